// What is to be thought of a standby that does not stream, and what follows. A sign on the disk says since when it has been so.
// 1. A standby that cannot follow (diverged, its WAL removed, damaged) is copied anew; a hanging standby is started anew.
// 2. A standby is judged only while its primary serves: otherwise the standby may be the last copy.
import type { ObservedEvent } from '../../provider.ts'
import { ensureFile, ensureRemoved } from '../host/effect.ts'
import { readIfThere } from '../../host/read.ts'
import type { Node } from '../host/layout.ts'
import { ensureSince } from '../host/since.ts'
import type { HaHost } from './ha-host.ts'
import type { Sender } from './replication.ts'
import { ensureKilled, findPostmaster, still_starting, still_stopping, type Postmaster } from '../postgres/process.ts'
import { findAwaited, findReplay } from './progress.ts'
import { ensureDataMovedAside } from './standby-data.ts'
import { mayLeave, type StandbySpec } from './standby-spec.ts'

export type ObservedStandby = {
  state: 'absent' | 'copying' | 'starting' | 'streaming' | 'catching_up' | 'not_streaming'
  pid?: number
  waiting_for?: string
  /** See providers/provider.ts. */
  in_progress?: boolean | undefined
  look_again_seconds?: number
  /** Its data could not be copied. */
  failed?: boolean
  events: readonly ObservedEvent[]
}

const look_again_soon_seconds = 0.5
/** A standby that serves but does not stream has this long to connect. */
const patience_ms = 2_000
/** The same for a fresh copy that cannot follow either: the next copy would hardly help. */
const patience_again_ms = 60_000
const copied_anew = 'copied anew\n'

export function observedAs(state: ObservedStandby['state'], waiting_for: string): ObservedStandby {
  return { state, waiting_for, look_again_seconds: look_again_soon_seconds, events: [] }
}

/** Why a start fails for reasons of the host, which a new copy of the data would not change. */
const reasons_of_the_host =
  /No space left|in use|already exists|shared memory|Cannot allocate|Permission denied|Too many/

/** Its server has not started yet. A server that fails to start for long, for no reason of the host, is copied anew. */
export async function judgeStart(
  host: HaHost,
  { primary }: StandbySpec,
  node: Node,
  sentence: string,
  sender: Sender | undefined,
): Promise<ObservedStandby> {
  const has_failed = sentence.startsWith('PostgreSQL did not start') && !reasons_of_the_host.test(sentence)
  // WAL that neither its primary nor the archive has will not come.
  const awaited = sentence === still_starting && !sender ? await findAwaited(node) : undefined
  const sign = awaited === undefined ? 'does not start' : `waits for ${awaited}`
  if ((!has_failed && awaited === undefined) || !(await lastsTooLong(host, node, primary, sign))) {
    return { ...observedAs('starting', sentence), in_progress: [still_starting, still_stopping].includes(sentence) }
  }
  return await giveUp(host, node, `its server did not start (${awaited ? `it ${sign}` : sentence})`)
}

/** Its server runs, and its primary serves, but it is not streaming. */
export async function judgeSilence(
  host: HaHost,
  spec: StandbySpec,
  node: Node,
  { pid }: Postmaster,
  sender: Sender | undefined,
): Promise<ObservedStandby> {
  const replay = await findReplay(node)
  const sign = replay === undefined ? `${pid} does not answer` : `${pid} stands at ${replay.reached}`
  // A standby with more WAL than its primary connects and is sent the same again and again: that alone is no progress.
  const lasts = await lastsTooLong(host, node, spec.primary, replay?.is_held ? `${pid} waits for its readers` : sign)
  if (!lasts || replay?.is_held || !(await mayLeave(spec))) {
    if (sender) return { ...observedAs('catching_up', 'a replica is catching up with its primary'), in_progress: true }
    return observedAs('not_streaming', 'a replica is not connected to its primary')
  }
  if (replay !== undefined) return await giveUp(host, node, 'it could not follow its primary any more')
  await ensureKilled(host.effect, node)
  await ensureRemoved(host.effect, 'sign of not streaming', node.not_streaming)
  const message = `replica ${node.number} did not answer any more and is started again`
  return { ...observedAs('not_streaming', 'a replica is started again'), events: [{ kind: 'replica', message }] }
}

/** Whether the sign has been the same for long, under the same server of the primary. */
async function lastsTooLong(host: HaHost, node: Node, primary: Node, sign: string): Promise<boolean> {
  const { postmaster } = await findPostmaster(primary)
  if (!postmaster) return false
  const again = (await readIfThere(node.not_streaming))?.includes(copied_anew) === true
  const text = `${sign}, primary ${postmaster.pid}\n${again ? copied_anew : ''}`
  const age_ms = await ensureSince(host.effect, 'sign of not streaming', node.not_streaming, text)
  return age_ms > (again ? patience_again_ms : patience_ms)
}

async function giveUp(host: HaHost, node: Node, reason: string): Promise<ObservedStandby> {
  await ensureDataMovedAside(host.effect, node)
  await ensureFile(host.effect, 'sign of not streaming', node.not_streaming, copied_anew, undefined)
  const message = `replica ${node.number} is copied anew: ${reason}`
  return {
    ...observedAs('absent', 'a replica is copied anew'),
    look_again_seconds: 0,
    events: [{ kind: 'replica', message }],
  }
}
