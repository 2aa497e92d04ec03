// What a running HAProxy says of its nodes, which of them it gives connections to, and changes of that.
import { askHaproxy } from './control.ts'
import type { Effect } from '../host/effect.ts'
import { asked_nodes, serverOf, type HaproxyName } from './settings.ts'

/** `out`: gets no new connections; those that it has stay. `off`: the same, and it gets no health checks either. */
export type NodeUse = 'in' | 'out' | 'off'

/** As its protocol numbers them. */
const maintenance = 0x01
const drained = 0x08
const stopped = '0'

/** `well`: it answers, as far as the balancer knows. */
export type ObservedNode = { use: NodeUse; well: boolean }

/** How each node is used now, by its number; undefined when HAProxy does not answer. */
export async function findUses(
  sockets: string,
  name: HaproxyName = 'balancer',
): Promise<Map<number, ObservedNode> | undefined> {
  const answer = await askHaproxy(sockets, name, `show servers state ${asked_nodes}`)
  return answer === undefined ? undefined : usesOf(answer)
}

export function usesOf(answer: string): Map<number, ObservedNode> {
  const [columns = '', ...rows] = answer.split('\n').slice(1)
  const names = columns.replace(/^# /, '').split(' ')
  const [name_at, health_at, state_at] = ['srv_name', 'srv_op_state', 'srv_admin_state'].map((name) =>
    names.indexOf(name),
  )
  const uses = new Map<number, ObservedNode>()
  for (const row of rows.filter((line) => line.trim() !== '')) {
    const fields = row.split(' ')
    const field = (at = -1) => fields[at] ?? ''
    const state = Number(field(state_at))
    const use = (state & maintenance) !== 0 ? 'off' : (state & drained) !== 0 ? 'out' : 'in'
    uses.set(Number(field(name_at).replace('node_', '')), { use, well: field(health_at) !== stopped })
  }
  return uses
}

/** Changes only what differs. A process that does not answer is started anew by the next pass (process.ts). */
export async function ensureUses(
  effect: Effect,
  sockets: string,
  wanted: ReadonlyMap<number, NodeUse>,
  name: HaproxyName = 'balancer',
): Promise<void> {
  const uses = await findUses(sockets, name)
  if (uses === undefined) return
  for (const [node, use] of wanted) {
    if (!uses.has(node) || uses.get(node)?.use === use) continue
    await effect(`${name}: node ${use}`)
    await askHaproxy(sockets, name, `set server ${serverOf(node)} state ${words[use]}`)
  }
}

const words = { in: 'ready', out: 'drain', off: 'maint' } as const satisfies Record<NodeUse, string>
