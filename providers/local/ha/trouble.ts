// Whether the primary of a service with replicas is lost: it has lost its data, has died, stays down or gives no answer. A look, and one
// sign on the disk: since when no pass could start it.
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { isStopped } from '../../host/daemon.ts'
import { ensureRemoved, type Effect } from '../host/effect.ts'
import type { Node } from '../host/layout.ts'
import { answers } from '../host/liveness.ts'
import { ensureSince, findAge } from '../host/since.ts'
import { hasData } from '../postgres/nodes.ts'
import { inForce } from '../postgres/port-in-force.ts'
import { findPostmaster } from '../postgres/process.ts'
import { listensAsPrimary } from './promotion.ts'

/** may_start: with the data that are there it may yet serve by itself. */
export type Trouble = { what: string; data_is_there: boolean; may_start: boolean }

/** More than the watch waits before it reports a silent server: the machine may be very busy. */
const answer_within_ms = 4_000
/** A stopped process (SIGSTOP) cannot answer, however idle the machine is; but it may be continued a moment later. */
const answer_when_stopped_ms = 1_000
const ask_again_ms = 20
/** A few attempts at starting it. */
const down_patience_ms = 15_000

/** Why the primary is lost; undefined while it is well, is starting, or was stopped on purpose. */
export async function troubleOf(effect: Effect, node: Node): Promise<Trouble | undefined> {
  const name = `the primary (node ${node.number})`
  // A refused session is no silence: a server at its limit of sessions may accept the next.
  for (const began = performance.now(); ; await pause(ask_again_ms)) {
    if (!hasData(node)) return { what: `${name} has lost its data directory`, ...lost_data }
    const { postmaster, died } = await findPostmaster(node)
    if (died) return { what: `${name} has died`, ...startable }
    if (!postmaster) {
      return (await staysDown(node)) ? { what: `${name} does not start`, ...unstartable } : undefined
    }
    await ensureRemoved(effect, 'sign of being down', downOf(node))
    if (!postmaster.ready || !(await listensAsPrimary(node))) return undefined
    const patience_ms = isStopped(postmaster.pid) ? answer_when_stopped_ms : answer_within_ms
    const left_ms = began + patience_ms - performance.now()
    if (left_ms <= 0) return { what: `${name} does not answer`, ...startable }
    // A primary that is about to move into a VPC, or out of one, still listens where it was.
    if (await answers(await inForce(node), left_ms)) return undefined
  }
}

const startable = { data_is_there: true, may_start: true }
const unstartable = { data_is_there: true, may_start: false }
const lost_data = { data_is_there: false, may_start: false }

/** Since when no pass could start the primary. */
export const downOf = ({ home }: Node) => join(home, 'primary-down')

/** What keeps a pass from trying, such as a copy of data that stands still, says nothing about the primary. */
export async function noteStartFailed(effect: Effect, node: Node): Promise<void> {
  await ensureSince(effect, 'sign of being down', downOf(node), String(node.number))
}

async function staysDown(node: Node): Promise<boolean> {
  return ((await findAge(downOf(node), String(node.number))) ?? 0) > down_patience_ms
}
