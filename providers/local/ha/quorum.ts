// Which replica becomes the primary after the primary is lost. Pure: from the lists in force and the observed positions to a node,
// or to the reason to wait.
// 1. A commit was acknowledged when sync_count of a list's m members had it. So of any m − sync_count + 1 of them at least
//    one has it, and the most advanced of those observed has all that was acknowledged.
// 2. While a list is being replaced either may be in force: enough members of each must be observed.
// 3. A later timeline is further than any position of an earlier one: WAL beyond its beginning there is abandoned.

export type Position = { timeline: number; lsn: bigint }

/** Members may include the primary's own number; it never counts. */
export type SyncList = { members: readonly number[]; sync_count: number }

/** position absent: the node could not be asked. */
export type ObservedNode = { node: number; position?: Position | undefined }

export type Election = { elect: number; position: Position } | { wait: string }

export function electionOf(spec: {
  primary: number
  lists: readonly SyncList[]
  observed: readonly ObservedNode[]
}): Election {
  const { primary, lists } = spec
  const asked = spec.observed.flatMap(({ node, position }) =>
    position && node !== primary ? [{ node, position }] : [],
  )
  for (const { members, sync_count } of lists.filter((list) => list.sync_count > 0)) {
    const standbys = members.filter((node) => node !== primary)
    const needed = Math.max(1, standbys.length - sync_count + 1)
    const count = standbys.filter((node) => asked.some((one) => one.node === node)).length
    if (count < needed) {
      return {
        wait: `${needed} of its ${standbys.length} replicas must answer before one is elected, and ${count} can`,
      }
    }
  }
  const [best] = asked.toSorted((a, b) => comparePositions(b.position, a.position) || a.node - b.node)
  return best ? { elect: best.node, position: best.position } : { wait: 'it has no replica that could take over' }
}

/** Whichever of the lists is in force, a replica that is elected by them has every commit that was acknowledged. */
export const haveWaited = (lists: readonly SyncList[]) =>
  lists.length > 0 && lists.every(({ sync_count }) => sync_count > 0)

/** Below zero when a is behind b. */
export function comparePositions(a: Position, b: Position): number {
  if (a.timeline !== b.timeline) return a.timeline - b.timeline
  return a.lsn === b.lsn ? 0 : a.lsn < b.lsn ? -1 : 1
}
