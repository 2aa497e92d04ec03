// The data that a service had before an exchange (service/exchange.ts): they lie aside, out of the reach of the service's user, until
// the snapshot as which they are kept is taken.
import { join } from 'node:path'
import type { WantedService, WantedSnapshot } from '../../provider.ts'
import { ensureRemoved, type Effect } from '../host/effect.ts'
import { statIfThere } from '../../host/read.ts'
import type { Node } from '../host/layout.ts'
import { readExchange } from '../wal/left.ts'

type Kept = { snapshot_id: string }

/** No snapshot is taken of data that is about to be exchanged. */
export async function isExchanged(node: Node, { exchange }: WantedService): Promise<boolean> {
  if (exchange === undefined) return true
  const { exchange_id, state } = (await readExchange(node)) ?? {}
  return exchange_id === exchange.exchange_id && state === 'done'
}

/** The snapshots that stay: all, until the data that they are of has given way together with them. An exchange may be refused. */
export async function standing(node: Node, wanted: WantedService): Promise<WantedSnapshot[]> {
  const go_with_data = wanted.exchange?.kept_as === undefined && !(await isExchanged(node, wanted))
  return wanted.snapshots.filter(({ deleted }) => go_with_data || !deleted)
}

/** The data of before an exchange stay until their snapshot is taken. */
export async function ensureBeforeRemoved(
  effect: Effect,
  node: Node,
  lasting: readonly Kept[],
  complete: readonly Kept[],
): Promise<void> {
  if (!(await statIfThere(node.before))) return
  const kept_as = (await readExchange(node))?.kept_as
  const isKept = ({ snapshot_id }: Kept) => snapshot_id === kept_as
  if (complete.some(isKept) || !lasting.some(isKept)) await ensureRemoved(effect, 'data before', node.before)
}

/** The data of before an exchange, as which a snapshot is to be taken, and until when the service had them. */
export async function findBefore(node: Node, snapshot_id: string): Promise<{ node: Node; at: Date } | undefined> {
  const { kept_as, left = [] } = (await readExchange(node)) ?? {}
  const until = left.at(-1)?.until
  if (kept_as !== snapshot_id || until === undefined || !(await statIfThere(node.before))) return undefined
  return { node: { ...node, data: join(node.before, 'data') }, at: new Date(until) }
}
