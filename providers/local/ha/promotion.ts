// How an elected replica becomes the primary: where it can, as it runs (in-place.ts); else it is stopped at once and started by the
// ordinary story where the primary listens. It is told to take writes as soon as it has replayed all that it has. PostgreSQL itself
// removes its sign of being a replica when that is done, so every look finds how far it has come.
// 1. It goes on from the timeline on which it was elected: a later one that it may find was given up.
// 2. It opens a timeline that no node of the service has ever had, or two histories could be mistaken for one.
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
import { together } from '../host/together.ts'

const poll_every_ms = 3
/**
 * What has not ended by then is killed: it recovers the same way, and somebody waits. Most take some 10 ms; one that runs a
 * command of its recovery at that moment does not hear the signal at all.
 */
const stop_wait_ms = 100
const promotion_wait_ms = 6_000
const ask_again_ms = 1_000

/** The replica that is about to be the primary learns which timeline is its own, and which are taken. */
export async function saveTimeline(effect: Effect, node: Node, others: readonly Node[], timeline: number) {
  const lines = [`${head}recovery_target_timeline = '${timeline}'\n`]
  if (await ensureHistories(effect, node, others, timeline)) {
    const command = `cp ${shellPath(`${node.archive}/%f`)} "%p" 2>/dev/null`
    lines.push(`restore_command = '${command.replaceAll("'", "''")}'\n`)
  }
  await effect('timeline: save')
  await replaceFile(node.data, own_settings, lines.join(''), node)
}

/** What it was told for its start as the primary would keep it from following another one that went on from there. */
export async function ensureTimelineRemoved(effect: Effect, node: Node): Promise<void> {
  if (!readText(node.data, own_settings)?.startsWith(head)) return
  await effect('timeline: forget')
  await replaceFile(node.data, own_settings, '', node)
}

/** A node that is to be the primary and still runs as a replica ends at once; it is started where the primary listens. */
export async function ensureLeading(effect: Effect, node: Node): Promise<void> {
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

/** A node that was elected a moment ago still listens where it did as a replica. */
export async function listensAsPrimary(node: Node): Promise<boolean> {
  return readText(node.data, pid_file)?.split('\n')[4] === node.sockets
}

/** Starts the server of a node that was a replica; it is asked to be the primary while it starts. */
export async function startAsPrimary<T>(effect: Effect, node: Node, start: () => Promise<T>): Promise<T> {
  const over = new AbortController()
  const ask = async () => {
    // Once more now and then: a server that has hardly begun clears the request away as one of an earlier life.
    do {
      const asked = await askToLead(effect, node)
      await pause(asked ? ask_again_ms : poll_every_ms, undefined, { signal: over.signal }).catch(() => undefined)
    } while (!over.signal.aborted)
  }
  const [started] = await together(
    start().finally(() => over.abort()),
    ask(),
  )
  return started
}

/** As `pg_ctl promote` does it: no session is needed, and it is heard also before the server takes any. */
async function askToLead(effect: Effect, node: Node): Promise<boolean> {
  const { postmaster } = await findPostmaster(node)
  if (!postmaster || !(await listensAsPrimary(node))) return false
  await effect('replica: promote')
  if (findEntry(node.data, 'promote') === undefined) await replaceFile(node.data, 'promote', '', node)
  signalIfThere(postmaster.pid, 'SIGUSR1')
  return true
}

export type ObservedPromotion = { promoted: boolean; waiting_for?: string }

/** The server is ready and was asked to be the primary. `promoted`: it became that just now. */
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
  // From here on the node that was lost is a replica like the others.
  await jobs.end(rejoinJobOf(node))
  return { promoted: was_replica }
}

/** Under which the lost node is started as a replica while another one is promoted. */
export const rejoinJobOf = ({ service_id }: Node) => `${service_id}/rejoin`

async function awaitPromotion(effect: Effect, node: Node): Promise<boolean> {
  return await withSuperuser(node, {}, async (client) => {
    const inRecovery = async () => {
      const { rows } = await client.query<{ in_recovery: boolean }>(
        'select pg_catalog.pg_is_in_recovery() as in_recovery',
      )
      return rows[0]?.in_recovery !== false
    }
    // The other replicas can come before it takes writes, and then no commit waits for them.
    for (const number of await listNodeFolders(node)) {
      if (number !== node.number) await ensureSlot(effect, client, nodeName(number))
    }
    let asked_at = performance.now()
    for (const deadline = asked_at + promotion_wait_ms; performance.now() < deadline; await pause(poll_every_ms)) {
      if (!(await inRecovery())) {
        await callOthers(effect, node)
        return true
      }
      if (performance.now() - asked_at < ask_again_ms) continue
      await askToLead(effect, node)
      asked_at = performance.now()
    }
    return false
  })
}

/** Replicas that have lost their primary look for it now and then; told to read their files, they do so at once. */
async function callOthers(effect: Effect, node: Node): Promise<void> {
  for (const number of await listNodeFolders(node)) {
    if (number === node.number) continue
    const { postmaster } = await findPostmaster(nodeAt(node, number, 'standby'))
    if (!postmaster?.ready) continue
    await effect('replica: call')
    signalIfThere(postmaster.pid, 'SIGHUP')
  }
}

/**
 * Histories of timelines that were opened by a node that was lost before anybody followed it. PostgreSQL numbers its new
 * timeline after those that it finds: in the archive, when there are such. True when there are.
 */
async function ensureHistories(effect: Effect, node: Node, others: readonly Node[], timeline: number) {
  for (let next = timeline + 1; ; next += 1) {
    const name = historyOf(next)
    if (findEntry(node.archive, name)) continue
    const texts = others.map(({ data }) => readText(data, `pg_wal/${name}`))
    const text = texts.find((one) => one !== undefined)
    if (text === undefined) return next > timeline + 1
    await effect('timeline: archive history')
    await replaceFile(node.archive, name, text, node)
  }
}

const head = '# Written by Howdah for one start.\n'

/** PostgreSQL reads it after all other settings. */
const own_settings = 'postgresql.auto.conf'
