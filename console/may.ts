// Whether the user may do something here and now: undefined, or why not. Buttons, menus and the palette all ask this.
import { useQuery } from '@tanstack/react-query'
import { api, type EndpointName } from '#contract/api.ts'
import type { Role } from '#contract/endpoint.ts'
import { refusalOf } from '#contract/refusal.ts'
import type { ServiceStatus } from '#contract/service-status.ts'
import { useOfflineSince } from './polling.ts'
import { q } from './query.ts'

export type May = (name: EndpointName) => string | undefined

export function useMay(project_id: string, status?: ServiceStatus): May {
  const role = useRole(project_id)
  const offline = useOfflineSince()
  return (name) =>
    refusalOf(api[name], { role, status }) ?? (offline === undefined ? undefined : 'the server cannot be reached')
}

export function useRole(project_id: string): Role | undefined {
  const { data } = useQuery(q('listProjects', {}))
  return data?.find(({ id }) => id === project_id)?.role
}
