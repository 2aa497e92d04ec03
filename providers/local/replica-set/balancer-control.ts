// A conversation with a running balancer over its control socket, one command a connection: what it is, which nodes it
// gives connections to, and changes of that. The socket lies in a folder that only the service's user and we can enter.
import { asked_nodes, control_socket, serverOf } from './balancer-settings.ts'
import type { Effect } from '../effect.ts'
import { newSocketTo } from '../tenant-files.ts'

/** `out`: gets no new connections; those that it has stay. `off`: the same, and it is not asked how it is either. */
export type NodeUse = 'in' | 'out' | 'off'

const timeout_ms = 1_000
const answer_bytes_max = 1024 ** 2
/** As its protocol numbers them. */
const maintenance = 0x01
const drained = 0x08
const stopped = '0'

/** Undefined when nobody answers. */
export async function askBalancer(sockets: string, command: string): Promise<string | undefined> {
  const socket = newSocketTo(sockets, control_socket).setTimeout(timeout_ms)
  try {
    const chunks: Buffer[] = []
    let bytes = 0
    socket.once('timeout', () => socket.destroy(new Error('no answer')))
    socket.connect({ path: sockets })
    socket.write(`${command}\n`)
    for await (const chunk of socket) {
      // A socket without an encoding gives buffers.
      chunks.push(chunk as Buffer)
      bytes += (chunk as Buffer).length // the same
      if (bytes > answer_bytes_max) return undefined
    }
    return Buffer.concat(chunks).toString()
  } catch {
    return undefined
  } finally {
    socket.destroy()
  }
}

/** The value in a line `name: value`. */
export function fieldOf(info: string, name: string): string | undefined {
  const line = info.split('\n').find((one) => one.startsWith(`${name}: `))
  return line?.slice(name.length + 2).trim()
}

/** `well`: it answers, as far as the balancer knows. */
export type NodeSeen = { use: NodeUse; well: boolean }

/** How each node is used now, by its number; undefined when nobody answers. */
export async function findUses(sockets: string): Promise<Map<number, NodeSeen> | undefined> {
  const answer = await askBalancer(sockets, `show servers state ${asked_nodes}`)
  return answer === undefined ? undefined : usesOf(answer)
}

export function usesOf(answer: string): Map<number, NodeSeen> {
  const [columns = '', ...rows] = answer.split('\n').slice(1)
  const names = columns.replace(/^# /, '').split(' ')
  const [name_at, health_at, state_at] = ['srv_name', 'srv_op_state', 'srv_admin_state'].map((name) =>
    names.indexOf(name),
  )
  const uses = new Map<number, NodeSeen>()
  for (const row of rows.filter((line) => line.trim() !== '')) {
    const fields = row.split(' ')
    const field = (at = -1) => fields[at] ?? ''
    const state = Number(field(state_at))
    const use = (state & maintenance) !== 0 ? 'off' : (state & drained) !== 0 ? 'out' : 'in'
    uses.set(Number(field(name_at).replace('node_', '')), { use, well: field(health_at) !== stopped })
  }
  return uses
}

/** Changes only what differs. A balancer that does not answer is somebody else's care. */
export async function ensureUses(effect: Effect, sockets: string, wanted: ReadonlyMap<number, NodeUse>): Promise<void> {
  const uses = await findUses(sockets)
  if (uses === undefined) return
  for (const [node, use] of wanted) {
    if (!uses.has(node) || uses.get(node)?.use === use) continue
    await effect(`balancer: node ${use}`)
    await askBalancer(sockets, `set server ${serverOf(node)} state ${words[use]}`)
  }
}

const words = { in: 'ready', out: 'drain', off: 'maint' } as const satisfies Record<NodeUse, string>
