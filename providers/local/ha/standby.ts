// A standby of a service's primary, from nothing to streaming: its data is copied, its server started, and it is looked for
// among those to whom the primary sends. The same for nodes that can take over and for those of replica sets.
// 1. One that cannot follow (diverged, its WAL gone, damaged) is copied anew; one that hangs is started anew.
// 2. Only a primary that serves is a reason to judge a standby: while it does not, a standby is all there is.
import { stat } from 'node:fs/promises'
import type { Endpoint, ObservedEvent, Size, WantedNetwork } from '../../provider.ts'
import { floorOf } from '../postgres/control-file.ts'
import { ensureNodeHome } from '../postgres/data-directory.ts'
import { ensureFile, ensureRemoved } from '../host/effect.ts'
import { isDiskFull, readIfThere } from '../host/look.ts'
import type { PostgresInstallation } from '../postgres/installation.ts'
import { groupOf, listeningAt, noSpaceSentence, type Place } from '../host/layout.ts'
import { ensureGroupGone } from '../host/leftovers.ts'
import type { HaHost } from './ha-host.ts'
import { portIsFree } from '../postgres/port.ts'
import { ensureTimelineForgotten } from './promotion.ts'
import { ensureSlot, ensureSlotGone, listSenders, type Sender } from './replication.ts'
import { ensureReservedRole } from '../postgres/reserved-roles.ts'
import { ensureServerFiles } from '../postgres/files.ts'
import { standby_role } from '../postgres/settings.ts'
import {
  ensureKilled,
  ensureReloaded,
  ensureStopped,
  findPostmaster,
  readyPostmaster,
  startPostmaster,
  still_starting,
  type Hashes,
  type Postmaster,
} from '../postgres/process.ts'
import { isInNetwork, networkPrefix } from '../network/service-network.ts'
import { ensureTailTaken } from './wal-tail.ts'
import { ensureDataAway, ensureFollowing, ensureStandbyData, isStandby } from './standby-data.ts'
import { withSuperuser } from '../postgres/superuser.ts'
import { tenantSetbackOf } from '../postgres/tenant-setback.ts'

export type StandbyWish = {
  /** The node's own, in the role of a standby. */
  place: Place
  /** The primary's: its data, sockets and archive. */
  primary: Place
  /** By which the primary knows it. */
  name: string
  /** By which the primary keeps WAL for it; absent: it catches up from the archive. */
  slot?: string
  size: Size
  /** Of its service. */
  extensions: readonly string[]
  /** Where it listens; absent: on its unix socket only. */
  listen?: Endpoint
  /** In which it listens; absent: in the host's. */
  network?: WantedNetwork | undefined
  installation: PostgresInstallation
  /** Asked before a server that runs is stopped or given up; false: not now, because others depend on it. */
  mayLeave?: () => Promise<boolean>
}

export type StandbySeen = {
  state: 'absent' | 'copying' | 'starting' | 'streaming' | 'catching_up' | 'not_streaming'
  pid?: number
  waiting_for?: string
  look_again_seconds?: number
  /** Its data could not be copied. */
  failed?: boolean
  events: readonly ObservedEvent[]
}

const look_again_soon_seconds = 0.5
const look_again_after_setback_seconds = 5
/** So long one that serves, but does not stream, is left to find its way. */
const patience_ms = 2_000
/** A fresh copy that cannot follow either: the next one would not help it much. */
const patience_again_ms = 60_000
const copied_anew = 'copied anew\n'
/** A standby that was just started streams well within it, so that one look is enough. */
const streaming_wait_ms = 1_000
const look_every_ms = 10
const answer_ms_max = 1_000

export async function ensureStandby(host: HaHost, wish: StandbyWish): Promise<StandbySeen> {
  const place = listenedAt(wish)
  await ensureNodeHome(host.effect, place)
  await host.log_watch.ensureKept(place.log)
  const sender = await preparePrimary(host, wish)
  if (typeof sender === 'string') return seenAs('not_streaming', sender)
  try {
    if ((await ensureStandbyData(host, place, wish.primary)) === 'copying') {
      return seenAs('copying', 'the data of a replica is being copied')
    }
  } catch (error) {
    const look_again_seconds = look_again_after_setback_seconds
    return { ...seenAs('absent', copySentence(host, error)), failed: true, look_again_seconds }
  }
  const running = await ensureStandbyRunning(host, wish)
  if (typeof running === 'string') return await judgeStart(host, place, wish.primary, running)
  await host.effect('limits: set')
  await host.limits.ensure(groupOf(place), wish.size)
  const found = sender?.state === 'streaming' && running.found ? sender : await findStreaming(wish, running)
  if (found?.state !== 'streaming')
    return { ...(await judgeSilence(host, wish, place, running, found)), pid: running.pid }
  await ensureRemoved(host.effect, 'sign of not streaming', place.not_streaming)
  return { state: 'streaming', pid: running.pid, events: [] }
}

/** A ready server on data that is there, following; a sentence when it is not, or not yet. `found`: it ran already. */
export async function ensureStandbyRunning(
  host: HaHost,
  wish: StandbyWish,
): Promise<(Postmaster & { found: boolean }) | string> {
  const { effect, limits } = host
  const { listen, installation } = wish
  const place = listenedAt(wish)
  // A server that believes to be a primary, and is not, must not go on for a moment.
  if (!(await isStandby(place))) await ensureKilled(effect, place)
  await ensureFollowing(effect, place)
  await host.projects?.lift(place)
  const hashes = await ensureStandbyFiles(host, wish)
  const { postmaster, died } = await findPostmaster(place)
  if (postmaster) await ensureRemoved(effect, 'WAL of the lost primary', place.tail)
  else await ensureTailTaken(effect, place, 'lost')
  const in_network = postmaster !== undefined && (await isInNetwork(host, wish.network, postmaster.pid))
  if (postmaster && postmaster.settings_hash === hashes.settings_hash && in_network) {
    const ready = postmaster.ready ? postmaster : await readyPostmaster(place)
    if (ready) await ensureReloaded(effect, place, ready, hashes.files_hash)
    return ready ? { ...ready, found: postmaster.ready } : still_starting
  }
  if (postmaster) {
    if (postmaster.ready && !(await mayLeave(wish))) return { ...postmaster, found: true }
    const waiting_for = await ensureStopped(effect, place)
    if (waiting_for !== undefined) return waiting_for
  }
  if (listen && !wish.network && !(await portIsFree(listen.host, listen.port))) {
    return `port ${listen.port} on ${listen.host} is in use by another program; a replica starts when the port is free`
  }
  await ensureTimelineForgotten(effect, place)
  // A start is a burst of work; the limits of its size follow at once.
  await effect('limits: set')
  await limits.ensure(groupOf(place), 'starting')
  const network_prefix = networkPrefix(host, wish.network)
  const start = { ...hashes, bin: installation.bin, network_prefix }
  const started = await startPostmaster(effect, place, { ...start, limits, died })
  return typeof started === 'string' ? started : { ...started, found: false }
}

/** What its server reads. */
export async function ensureStandbyFiles(host: HaHost, wish: StandbyWish): Promise<Hashes> {
  const { primary, name, slot, size, extensions, listen: endpoint, installation } = wish
  const place = listenedAt(wish)
  // Where it cannot be read, PostgreSQL itself says what is wrong with the data.
  const floor = await floorOf(place.data).catch(() => undefined)
  const following = { primary, name, slot }
  return await ensureServerFiles(host, installation, { size, extensions, endpoint, place, following, floor })
}

/** Removes all of a node: processes, files, control group, and its slot at the primary, when that is given and serves. */
export async function ensureStandbyGone(
  host: HaHost,
  place: Place,
  slot?: { primary: Place; name: string },
): Promise<void> {
  const { effect } = host
  await ensureDataAway(effect, place)
  await effect('limits: remove')
  await ensureGroupGone(host, groupOf(place))
  if (slot) await withSuperuser(slot.primary, {}, (client) => ensureSlotGone(effect, client, slot.name))
  // Of the first node only what is its own: its home is that of the service.
  if (place.node_home !== place.home) await ensureRemoved(effect, 'removed node', place.node_home)
  const { data_gone, data_aside, tail, settings, start_log, not_streaming, stopping, reloaded, making, log } = place
  const own = [data_gone, data_aside, tail, settings, start_log, not_streaming, stopping, reloaded, making, log]
  for (const path of own) await ensureRemoved(effect, 'removed node', path)
  if (place.sockets !== place.service_sockets) await ensureRemoved(effect, 'socket folder', place.sockets)
}

const mayLeave = async (wish: StandbyWish) => (await wish.mayLeave?.()) ?? true

const listenedAt = ({ place, listen }: StandbyWish) => (listen ? listeningAt(place, listen.port) : place)

/** The role and the slot are there, and WAL is kept from before the copy on. Undefined: it sends nothing to this one; a sentence: it cannot yet. */
async function preparePrimary(host: HaHost, { primary, name, slot }: StandbyWish) {
  try {
    return await withSuperuser(primary, { connect_timeout_ms: answer_ms_max }, async (client) => {
      await ensureReservedRole(host.effect, client, standby_role)
      if (slot !== undefined) await ensureSlot(host.effect, client, slot)
      return (await listSenders(client)).find((sender) => sender.name === name)
    })
  } catch (error) {
    const { message } = tenantSetbackOf(error) ?? { message: 'its primary does not serve yet' }
    return `a replica waits: ${message}`
  }
}

function copySentence(host: HaHost, error: unknown): string {
  if (isDiskFull(error)) return `a replica is waiting: ${noSpaceSentence(host.directory)}`
  return `a replica could not be made and is tried again: ${error instanceof Error ? error.message : String(error)}`
}

/** One that ran before has had its time; one that was started a moment ago is given some. */
async function findStreaming(
  { primary, name }: StandbyWish,
  { found }: { found: boolean },
): Promise<Sender | undefined> {
  const deadline = performance.now() + (found ? 0 : streaming_wait_ms)
  return await withSuperuser(primary, {}, async (client) => {
    for (;;) {
      const sender = (await listSenders(client)).find((one) => one.name === name)
      if (sender?.state === 'streaming' || performance.now() >= deadline) return sender
      await client.query('select pg_catalog.pg_sleep($1)', [look_every_ms / 1000])
    }
  })
}

/** For which its data can do nothing. */
const reasons_of_the_host =
  /No space left|in use|already exists|shared memory|Cannot allocate|Permission denied|Too many/

/** Its server does not come up, or not yet. What does so for long without a reason of its host's is copied anew. */
async function judgeStart(host: HaHost, place: Place, primary: Place, sentence: string): Promise<StandbySeen> {
  const hopeless = sentence.startsWith('PostgreSQL did not start') && !reasons_of_the_host.test(sentence)
  if (!hopeless || !(await lastsTooLong(host, place, primary, 'does not start'))) return seenAs('starting', sentence)
  return await giveUp(host, place, `its server did not start (${sentence})`)
}

/** Its server runs, and its primary serves, but they have not found each other. */
async function judgeSilence(
  host: HaHost,
  wish: StandbyWish,
  place: Place,
  { pid }: Postmaster,
  sender: Sender | undefined,
): Promise<StandbySeen> {
  const reached = await reachedBy(place)
  const sign = reached === undefined ? `${pid} does not answer` : `${pid} stands at ${reached}`
  // One that knows more than its primary connects and is sent the same again and again: that alone is no progress.
  if (!(await lastsTooLong(host, place, wish.primary, sign)) || !(await mayLeave(wish))) {
    if (sender) return seenAs('catching_up', 'a replica is catching up with its primary')
    return seenAs('not_streaming', 'a replica is not connected to its primary')
  }
  if (reached !== undefined) return await giveUp(host, place, 'it could not follow its primary any more')
  await ensureKilled(host.effect, place)
  await ensureRemoved(host.effect, 'sign of not streaming', place.not_streaming)
  const message = `Replica ${place.node} did not answer any more and is started again`
  return { ...seenAs('not_streaming', 'a replica is started again'), events: [{ kind: 'replica', message }] }
}

/** Up to where it has received and replayed; undefined when it gives no answer. */
async function reachedBy(place: Place): Promise<string | undefined> {
  try {
    return await withSuperuser(place, { connect_timeout_ms: answer_ms_max }, async (client) => {
      const { rows } = await client.query<{ reached: string }>(
        `select concat_ws(' and ', pg_catalog.pg_last_wal_receive_lsn(), pg_catalog.pg_last_wal_replay_lsn()) as reached`,
      )
      return rows[0]?.reached
    })
  } catch {
    return undefined
  }
}

/** Whether the same has been seen for long, under the same server of the primary; the age of a file says since when. */
async function lastsTooLong(host: HaHost, place: Place, primary: Place, sign: string): Promise<boolean> {
  const { postmaster } = await findPostmaster(primary)
  if (!postmaster) return false
  const again = (await readIfThere(place.not_streaming))?.includes(copied_anew) === true
  const text = `${sign}, primary ${postmaster.pid}\n${again ? copied_anew : ''}`
  await ensureFile(host.effect, 'sign of not streaming', place.not_streaming, text, undefined)
  const age_ms = Date.now() - (await stat(place.not_streaming)).mtimeMs
  return age_ms > (again ? patience_again_ms : patience_ms)
}

async function giveUp(host: HaHost, place: Place, reason: string): Promise<StandbySeen> {
  await ensureDataAway(host.effect, place)
  await ensureFile(host.effect, 'sign of not streaming', place.not_streaming, copied_anew, undefined)
  const message = `Replica ${place.node} is copied anew: ${reason}`
  return {
    ...seenAs('absent', 'a replica is copied anew'),
    look_again_seconds: 0,
    events: [{ kind: 'replica', message }],
  }
}

function seenAs(state: StandbySeen['state'], waiting_for: string): StandbySeen {
  return { state, waiting_for, look_again_seconds: look_again_soon_seconds, events: [] }
}
