// Whether something of a service has stopped. Pure. The operator's word alone is not enough: a hibernated Cluster says that it is
// healthy, and a pooler that it is active before it has a Pod. The Pod of a job serves no client,
// and stays where no node takes it.
import type { Cluster, Deployment, Pod } from '../api/kinds.ts'
import { instancesOf } from './look.ts'

export function hasHibernated({ status }: Cluster, pods: readonly Pod[]): boolean {
  const { conditions = [] } = status ?? {}
  return (
    instancesOf(pods).length === 0 &&
    conditions.some((one) => one.type === 'cnpg.io/hibernation' && one.status === 'True')
  )
}

export function isPoolerStopped(deployment: Deployment | undefined): boolean {
  if (deployment === undefined) return true
  const { spec, status, metadata } = deployment
  return spec?.replicas === 0 && status?.observedGeneration === metadata.generation && (status?.replicas ?? 0) === 0
}
