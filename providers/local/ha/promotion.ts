// How an elected replica becomes the primary: where possible while it runs (in-place.ts); else it is stopped and started where
// the primary listens. It is told to take writes as soon as it has replayed all that it has. PostgreSQL itself removes
// standby.signal when that is done, so every pass reads how far it has come.
// 1. It goes on from the timeline on which it was elected: a later timeline that it may find is abandoned.
// 2. It opens a timeline that no node of the service has ever had, or two histories would have one number.
//    What tells it both is on the disk before it is named the primary.
import { setTimeout as pause } from 'node:timers/promises'
import { shellPath } from '../postgres/archive-settings.ts'
import { signalIfThere } from '../../host/daemon.ts'
import { ensureEntryRemoved, ensureRemoved, type Effect } from '../host/effect.ts'
import { ensureFenced } from './fence.ts'
import { nodeAt, type Node } from '../host/layout.ts'
import type { HaHost } from './ha-host.ts'
import { listNodeFolders } from '../postgres/nodes.ts'
import { ensureSlot } from './replication.ts'
import { pid_file } from '../../host/postmaster.ts'
import { findPostmaster } from '../postgres/process.ts'
import { findEntry, readText, replaceFile } from '../host/tenant-files.ts'
import { historyOf } from '../wal/timeline.ts'
import { withSuperuser } from '../postgres/superuser.ts'
import { nodeName } from './synchronous.ts'
import { together } from '../../host/together.ts'

const poll_every_ms = 3
/**
 * A replica that still runs after this time is killed: it recovers the same way, and clients are waiting. Most stop within 10 ms; a
 * server that runs restore_command at that moment does not react to the signal.
 */
const stop_wait_ms = 100
const promotion_wait_ms = 6_000
const ask_again_ms = 1_000

/** Tells the replica that is about to be the primary which timeline is its own, and which numbers are taken. */
export async function saveTimeline(effect: Effect, node: Node, others: readonly Node[], timeline: number) {
  const lines = [`${head}recovery_target_timeline = '${timeline}'\n`]
  if (await ensureHistories(effect, node, others, timeline)) {
    const command = `cp ${shellPath(`${node.archive}/%f`)} "%p" 2>/dev/null`
    lines.push(`restore_command = '${command.replaceAll("'", "''")}'\n`)
  }
  await effect('timeline: save')
  await replaceFile(node.data, own_settings, lines.join(''), { owner: node.owner, durable: true })
}

/** The settings for its start as the primary would keep it from following a later primary. */
export async function ensureTimelineRemoved(effect: Effect, node: Node): Promise<void> {
  if (!readText(node.data, own_settings)?.startsWith(head)) return
  await effect('timeline: forget')
  await replaceFile(node.data, own_settings, '', node)
}

/** Stops a node that is to be the primary and still runs as a replica; the pass starts it where the primary listens. */
export async function ensureReplicaStopped(effect: Effect, node: Node): Promise<void> {
  const { postmaster } = await findPostmaster(node)
  if (!postmaster || (await listensAsPrimary(node))) return
  await effect('replica: SIGQUIT')
  signalIfThere(postmaster.pid, 'SIGQUIT')
  for (const deadline = performance.now() + stop_wait_ms; performance.now() < deadline; await pause(poll_every_ms)) {
    const left = await findPostmaster(node)
    if (!left.postmaster && !left.died) return
  }
  await ensureFenced(effect, node)
  await ensureEntryRemoved(effect, 'stale pid file', node.data, pid_file)
}

/** A node that was just elected still listens where it did as a replica. */
export async function listensAsPrimary(node: Node): Promise<boolean> {
  return readText(node.data, pid_file)?.split('\n')[4] === node.sockets
}

/** Starts the server of a node that was a replica, and requests its promotion while it starts. */
export async function startAsPrimary<T>(effect: Effect, node: Node, start: () => Promise<T>): Promise<T> {
  const over = new AbortController()
  const ask = async () => {
    // Repeated: a server that has just begun to start removes the request as a stale file.
    do {
      const asked = await requestPromotion(effect, node)
      await pause(asked ? ask_again_ms : poll_every_ms, undefined, { signal: over.signal }).catch(() => undefined)
    } while (!over.signal.aborted)
  }
  const [started] = await together(
    start().finally(() => over.abort()),
    ask(),
  )
  return started
}

/** As `pg_ctl promote` does it: it needs no session, and works also before the server accepts any. */
async function requestPromotion(effect: Effect, node: Node): Promise<boolean> {
  const { postmaster } = await findPostmaster(node)
  if (!postmaster || !(await listensAsPrimary(node))) return false
  await effect('replica: promote')
  if (findEntry(node.data, 'promote') === undefined) await replaceFile(node.data, 'promote', '', node)
  signalIfThere(postmaster.pid, 'SIGUSR1')
  return true
}

export type ObservedPromotion = { promoted: boolean; waiting_for?: string }

/** The server is ready and its promotion was requested. `promoted`: it became the primary in this pass. */
export async function ensurePromoted(
  { effect, jobs }: HaHost,
  node: Node,
  was_replica: boolean,
): Promise<ObservedPromotion> {
  if (was_replica && !(await awaitPromotion(effect, node))) {
    return { promoted: false, waiting_for: `node ${node.number} is becoming the primary` }
  }
  await ensureTimelineRemoved(effect, node)
  await ensureRemoved(effect, 'WAL of the lost primary', node.tail)
  // From here on the lost node is a replica like the others.
  await jobs.end(rejoinJobOf(node))
  return { promoted: was_replica }
}

/** The job that starts the lost node as a replica while another node is promoted. */
export const rejoinJobOf = ({ service_id }: Node) => `${service_id}/rejoin`

async function awaitPromotion(effect: Effect, node: Node): Promise<boolean> {
  return await withSuperuser(node, {}, async (client) => {
    const inRecovery = async () => {
      const { rows } = await client.query<{ in_recovery: boolean }>(
        'select pg_catalog.pg_is_in_recovery() as in_recovery',
      )
      return rows[0]?.in_recovery !== false
    }
    // The other replicas connect before it takes writes, so that no commit waits for them.
    for (const number of await listNodeFolders(node)) {
      if (number !== node.number) await ensureSlot(effect, client, nodeName(number))
    }
    let asked_at = performance.now()
    for (const deadline = asked_at + promotion_wait_ms; performance.now() < deadline; await pause(poll_every_ms)) {
      if (!(await inRecovery())) {
        await reloadOthers(effect, node)
        return true
      }
      if (performance.now() - asked_at < ask_again_ms) continue
      await requestPromotion(effect, node)
      asked_at = performance.now()
    }
    return false
  })
}

/** Replicas that lost their primary try it again every few seconds; told to read their files, they try at once. */
async function reloadOthers(effect: Effect, node: Node): Promise<void> {
  for (const number of await listNodeFolders(node)) {
    if (number === node.number) continue
    const { postmaster } = await findPostmaster(nodeAt(node, number, 'standby'))
    if (!postmaster?.ready) continue
    await effect('replica: call')
    signalIfThere(postmaster.pid, 'SIGHUP')
  }
}

/**
 * Histories of timelines that were opened by a node that was lost before any replica followed it. PostgreSQL numbers its new
 * timeline after those that it finds in the archive. True when there are such histories.
 */
async function ensureHistories(effect: Effect, node: Node, others: readonly Node[], timeline: number) {
  for (let next = timeline + 1; ; next += 1) {
    const name = historyOf(next)
    if (findEntry(node.archive, name)) continue
    const texts = others.map(({ data }) => readText(data, `pg_wal/${name}`))
    const text = texts.find((one) => one !== undefined)
    if (text === undefined) return next > timeline + 1
    await effect('timeline: archive history')
    await replaceFile(node.archive, name, text, { owner: node.owner, durable: true })
  }
}

const head = '# Written by Howdah for one start.\n'

/** PostgreSQL reads it after all other settings. */
const own_settings = 'postgresql.auto.conf'
