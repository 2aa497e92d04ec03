// The replay of a fork to its moment: PostgreSQL itself reads the gathered WAL, stops at the target and becomes a server of
// its own on a new timeline. It runs as the service's ordinary daemon, so it outlives the server and is found again.
// Its state is one file beside the data. A replay that can never succeed is not tried twice.
import { shellPath } from '../postgres/archive-settings.ts'
import { ensureRemoved, type Effect, replaceDurably } from '../host/effect.ts'
import { readIfThere, statIfThere } from '../../host/read.ts'
import type { Node } from '../host/layout.ts'
import { readControl } from '../postgres/control-file.ts'
import { parseLsn } from '../../postgres/lsn.ts'
import { findPostmaster } from '../postgres/process.ts'
import { logSince } from '../postgres/start-log.ts'
import { withSuperuser } from '../postgres/superuser.ts'
import { findEntry, replaceFile } from '../host/tenant-files.ts'
import { fileAt, type Path } from './timeline.ts'
import { walPositionOf } from './wal.ts'

export type Plan = {
  target_time: string
  /** There is a commit after the target, as of a parent that runs. Otherwise the WAL may end before it, with the same result. */
  source_ran: boolean
  last_wal_file: string
  /** The timelines on the way. */
  path: Path
  /** Which moments can be restored all the same, should the WAL be damaged. */
  reach: string
  started_at?: number
  attempts?: number
  failure?: string
}

/** The source of the fork cannot give it; trying again is of no use. */
export class SourceDamaged extends Error {
  override readonly name = 'SourceDamaged'
}

/** Failures that have nothing to do with the WAL, such as a reboot, are tried again; but not for ever. */
const attempts_max = 5

export async function failureOf(node: Node): Promise<string | undefined> {
  return (await readPlan(node))?.failure
}

export async function saveFailure(effect: Effect, node: Node, failure: string): Promise<void> {
  await replaceDurably(effect, 'replay', node.replay, { failure } satisfies Pick<Plan, 'failure'>)
  await ensureRemoved(effect, 'gathered WAL', node.restore)
}

export async function savePlan(effect: Effect, node: Node, plan: Plan): Promise<void> {
  await replaceDurably(effect, 'replay', node.replay, plan)
}

/**
 * In the file that only a superuser could change otherwise, so the settings of the service itself are the same before
 * and after. hot_standby is off so that "ready" means: the target was reached and it takes writes.
 * The timeline is the parent's own: its WAL may contain others, which are abandoned.
 */
export function replaySettings(node: Node, path: Path, target_time: string | undefined): string {
  const values = {
    // A link costs nothing; PostgreSQL renames it and, when it is done with it, reuses or removes it.
    restore_command: `ln ${shellPath(`${node.restore}/%f`)} "%p" 2>/dev/null`,
    recovery_target_timeline: String(path.at(-1)?.timeline ?? 'latest'),
    recovery_target_action: 'promote',
    hot_standby: 'off',
    ...(target_time && { recovery_target_time: target_time.replace('Z', '+00') }),
  }
  return Object.entries(values)
    .map(([name, value]) => `${name} = '${value.replaceAll("'", "''")}'\n`)
    .join('')
}

/** Before a start: whether the replay may be started. A sentence when it has failed for good. */
export async function ensureReplayable(effect: Effect, node: Node): Promise<string | undefined> {
  const plan = await readPlan(node)
  if (plan === undefined) return undefined
  if (plan.failure !== undefined) return plan.failure
  if ((await findPostmaster(node)).postmaster) return undefined
  if (findEntry(node.data, 'recovery.signal') === undefined) return undefined
  const failure = plan.started_at === undefined ? undefined : await judge(effect, node, plan, plan.started_at)
  if (failure !== undefined) {
    await saveFailure(effect, node, failure)
    return failure
  }
  const attempts = (plan.attempts ?? 0) + 1
  await savePlan(effect, node, { ...plan, started_at: Date.now(), attempts })
  return undefined
}

/** After it has become a server of its own: removes the settings and files of the replay. */
export async function ensureReplayRemoved(effect: Effect, node: Node): Promise<void> {
  if (!(await statIfThere(node.replay))) return
  await effect('replay: forget settings')
  await withSuperuser(node, {}, (client) => client.query('alter system reset all'))
  await ensureRemoved(effect, 'gathered WAL', node.restore)
  await ensureRemoved(effect, 'replay', node.replay)
}

/**
 * Why a started replay is not running any more. Undefined: it can be started again. Only PostgreSQL's own messages
 * count: a failed start and a reboot leave none, and refused clients leave many.
 */
async function judge(effect: Effect, node: Node, plan: Plan, started_at: number): Promise<string | undefined> {
  const messages = await logSince(node, started_at)
  const said = (pattern: RegExp) => messages.findLast((message) => pattern.test(message))
  if (said(/No space left on device/)) return undefined
  const reach = plan.reach.replace('{until}', lastCommitOf(messages))
  if (said(/^recovery ended before configured recovery target was reached/)) {
    const end = endOf(messages, plan, (await readControl(node.data)).segment_bytes)
    // The parent did nothing more before it stopped: the end of its WAL is the state at the target.
    if (!plan.source_ran && walPositionOf(end) >= walPositionOf(plan.last_wal_file)) {
      await effect('replay: to the end')
      await replaceFile(node.data, 'postgresql.auto.conf', replaySettings(node, plan.path, undefined), node)
      return undefined
    }
    return `the WAL file ${end} of its parent is damaged; ${reach}`
  }
  const hopeless = said(
    /^(WAL ends before|could not locate|requested (timeline|recovery stop point)|invalid checkpoint)/,
  )
  if (hopeless !== undefined) return `the WAL of its parent cannot be replayed (${hopeless}); ${reach}`
  if (!said(/^startup process \(PID \d+\) exited with exit code/) || (plan.attempts ?? 0) < attempts_max)
    return undefined
  return `the replay of its parent's WAL has failed ${attempts_max} times; the log of the service says why`
}

/** The WAL file in which the replay ended. */
function endOf(messages: readonly string[], plan: Plan, segment_bytes: number): string {
  const done_at = messages.map((text) => /^redo done at ([0-9A-F]+\/[0-9A-F]+)/.exec(text)?.[1]).findLast(Boolean)
  return done_at === undefined ? plan.last_wal_file : fileAt(plan.path, Number(parseLsn(done_at)), segment_bytes)
}

function lastCommitOf(messages: readonly string[]): string {
  const found = messages.map((text) => /^last completed transaction was at log time (.+)$/.exec(text)?.[1])
  return found.findLast(Boolean) ?? 'shortly after'
}

async function readPlan(node: Node): Promise<Plan | undefined> {
  const text = await readIfThere(node.replay)
  if (text === undefined) return undefined
  try {
    return JSON.parse(text) as Plan // written by savePlan and saveFailure only
  } catch {
    // Versions before this one did not flush it: PostgreSQL has its target in its own settings and goes on without.
    return undefined
  }
}
