// Services as a tree of forks, in rows: each below its parent, with the lines that lead to it. Pure.
import type { Service } from '#contract/service.ts'

export type Branch = { service: Service; prefix: string }

export function treeOf(services: readonly Service[]): Branch[] {
  const ids = new Set(services.map(({ service_id }) => service_id))
  const parentOf = ({ forked_from }: Service) =>
    forked_from !== undefined && ids.has(forked_from.service_id) ? forked_from.service_id : undefined
  const below = Map.groupBy(services, parentOf)
  const rowsOf = (parent: string | undefined, prefix: string): Branch[] =>
    (below.get(parent) ?? []).flatMap((service, index, all) => {
      const is_last = index === all.length - 1
      const own = parent === undefined ? '' : `${prefix}${is_last ? '└ ' : '├ '}`
      const deeper = parent === undefined ? '' : `${prefix}${is_last ? '  ' : '│ '}`
      return [{ service, prefix: own }, ...rowsOf(service.service_id, deeper)]
    })
  return rowsOf(undefined, '')
}
