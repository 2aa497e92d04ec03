// A standby of a service's primary, from nothing to streaming: its data is copied, its server started, and its name is found
// among the primary's walsenders. The same for nodes that can take over and for nodes of replica sets.
// 1. A standby that cannot follow (diverged, its WAL removed, damaged) is copied anew; a hanging standby is started anew.
// 2. A standby is judged only while its primary serves: otherwise the standby may be the last copy.
import type { Endpoint, ObservedEvent, Size } from '../../provider.ts'
import { highestFloorOf } from '../postgres/control-file.ts'
import { ensureNodeHome } from '../postgres/data-directory.ts'
import { ensureFile, ensureRemoved } from '../host/effect.ts'
import { messageOf } from '../../host/message.ts'
import { isDiskFull, readIfThere } from '../../host/read.ts'
import type { PostgresInstallation } from '../postgres/installation.ts'
import { groupOf, listeningAt, look_again_without_space_seconds, noSpaceSentence, type Node } from '../host/layout.ts'
import { ensureGroupRemoved } from '../host/leftovers.ts'
import { ensureSince } from '../host/since.ts'
import type { HaHost } from './ha-host.ts'
import { portIsFree } from '../postgres/port.ts'
import { ensureTimelineRemoved } from './promotion.ts'
import { ensureSlot, ensureSlotRemoved, listSenders, type Sender } from './replication.ts'
import { ensureReservedRole } from '../postgres/reserved-roles.ts'
import { ensureServerFiles } from '../postgres/files.ts'
import {
  ensureKilled,
  ensureReloaded,
  ensureStopped,
  findPostmaster,
  readyPostmaster,
  startPostmaster,
  still_starting,
  still_stopping,
  type Hashes,
  type Postmaster,
} from '../postgres/process.ts'
import { isInNetwork, networkPrefix } from '../network/service-network.ts'
import { findAwaited, findReplay } from './progress.ts'
import { ensureTailTaken } from './wal-tail.ts'
import { ensureDataMovedAside, ensureStandbySignal, ensureStandbyData, isStandby } from './standby-data.ts'
import { withSuperuser } from '../postgres/superuser.ts'
import { tenantSetbackOf } from '../postgres/tenant-setback.ts'
import { standby_role } from '../../postgres/names.ts'

export type StandbySpec = {
  /** The node's own, in the role of a standby. */
  node: Node
  /** The primary's: its data, sockets and archive. */
  primary: Node
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
  vpc_id?: string | undefined
  installation: PostgresInstallation
  /** Asked before a running server is stopped or given up; false: not now, because commits depend on it. */
  mayLeave?: () => Promise<boolean>
}

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
const look_again_after_setback_seconds = 5
/** A standby that serves but does not stream has this long to connect. */
const patience_ms = 2_000
/** The same for a fresh copy that cannot follow either: the next copy would hardly help. */
const patience_again_ms = 60_000
const copied_anew = 'copied anew\n'
/** A standby that was just started streams well within it, so that one pass is enough. */
const streaming_wait_ms = 1_000
const poll_every_ms = 10
const answer_ms_max = 1_000

export async function ensureStandby(host: HaHost, spec: StandbySpec): Promise<ObservedStandby> {
  const node = listenedAt(spec)
  await ensureNodeHome(host.effect, node)
  await host.log_watch.ensureKept(node.log)
  const sender = await preparePrimary(host, spec)
  if (typeof sender === 'string') return observedAs('not_streaming', sender)
  try {
    if ((await ensureStandbyData(host, node, spec.primary)) === 'copying') {
      return { ...observedAs('copying', 'the data of a replica is being copied'), in_progress: true }
    }
  } catch (error) {
    return { ...copySetbackOf(host, error), failed: true }
  }
  const running = await ensureStandbyRunning(host, spec)
  if (typeof running === 'string') return await judgeStart(host, spec, node, running, sender)
  await host.effect('limits: set')
  await host.limits.ensure(groupOf(node), spec.size)
  const found = sender?.state === 'streaming' && running.found ? sender : await findStreaming(spec, running)
  if (found?.state !== 'streaming')
    return { ...(await judgeSilence(host, spec, node, running, found)), pid: running.pid }
  await ensureRemoved(host.effect, 'sign of not streaming', node.not_streaming)
  return { state: 'streaming', pid: running.pid, events: [] }
}

/** A ready server that follows, on existing data; a sentence while there is none. `found`: it ran already. */
export async function ensureStandbyRunning(
  host: HaHost,
  spec: StandbySpec,
): Promise<(Postmaster & { found: boolean }) | string> {
  const { effect, limits } = host
  const { listen, installation } = spec
  const node = listenedAt(spec)
  // A server that takes itself for a primary, and is not, is killed at once.
  if (!(await isStandby(node))) await ensureKilled(effect, node)
  await ensureStandbySignal(effect, node)
  await host.projects?.lift(node)
  const hashes = await ensureStandbyFiles(host, spec)
  const { postmaster, died } = await findPostmaster(node)
  if (postmaster) await ensureRemoved(effect, 'WAL of the lost primary', node.tail)
  else await ensureTailTaken(effect, node, 'lost')
  const in_network = postmaster !== undefined && (await isInNetwork(host, spec.vpc_id, postmaster.pid))
  if (postmaster && postmaster.settings_hash === hashes.settings_hash && in_network && !postmaster.stopping) {
    const ready = postmaster.ready ? postmaster : await readyPostmaster(node)
    if (ready) await ensureReloaded(effect, node, ready, hashes.files_hash)
    return ready ? { ...ready, found: postmaster.ready } : still_starting
  }
  if (postmaster) {
    if (postmaster.ready && !(await mayLeave(spec))) return { ...postmaster, found: true }
    const waiting_for = await ensureStopped(effect, node)
    if (waiting_for !== undefined) return waiting_for
  }
  if (listen && !spec.vpc_id && !(await portIsFree(listen.host, listen.port))) {
    return `port ${listen.port} on ${listen.host} is in use by another program; a replica starts when the port is free`
  }
  await ensureTimelineRemoved(effect, node)
  // A start is a burst of work; the limits of its size are set right after.
  await effect('limits: set')
  await limits.ensure(groupOf(node), 'starting')
  const network_prefix = networkPrefix(host, spec.vpc_id)
  const start = { ...hashes, bin: installation.bin, network_prefix }
  const started = await startPostmaster(effect, node, { ...start, limits, died })
  return typeof started === 'string' ? started : { ...started, found: false }
}

/** What its server reads. */
export async function ensureStandbyFiles(host: HaHost, spec: StandbySpec): Promise<Hashes> {
  const { primary, name, slot, size, extensions, listen: endpoint, installation } = spec
  const node = listenedAt(spec)
  // Its primary may have grown since the WAL that was replayed here: replay pauses at a value that is higher than the standby's own.
  const floor = await highestFloorOf([node.data, primary.data])
  const following = { primary, name, slot }
  return await ensureServerFiles(host, installation, { size, extensions, endpoint, node, following, floor })
}

/** Removes all of a node: processes, files, control group, and its slot at the primary, when that is given and serves. */
export async function ensureStandbyRemoved(
  host: HaHost,
  node: Node,
  slot?: { primary: Node; name: string },
): Promise<void> {
  const { effect } = host
  await ensureDataMovedAside(effect, node)
  await effect('limits: remove')
  await ensureGroupRemoved(host, groupOf(node))
  if (slot) await withSuperuser(slot.primary, {}, (client) => ensureSlotRemoved(effect, client, slot.name))
  // Of the first node only what is its own: its home is that of the service.
  if (node.node_home !== node.home) await ensureRemoved(effect, 'removed node', node.node_home)
  const { data_removed, data_aside, tail, settings, start_log, not_streaming, stopping, reloaded, making, log } = node
  const own = [data_removed, data_aside, tail, settings, start_log, not_streaming, stopping, reloaded, making, log]
  for (const path of own) await ensureRemoved(effect, 'removed node', path)
  if (node.sockets !== node.service_sockets) await ensureRemoved(effect, 'socket folder', node.sockets)
}

const mayLeave = async (spec: StandbySpec) => (await spec.mayLeave?.()) ?? true

const listenedAt = ({ node, listen }: StandbySpec) => (listen ? listeningAt(node, listen.port) : node)

/** Makes the role and the slot, so that WAL is kept from before the copy on. Undefined: no walsender for this standby; a sentence: not possible yet. */
async function preparePrimary(host: HaHost, { primary, name, slot }: StandbySpec) {
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

function copySetbackOf({ directory }: HaHost, error: unknown): ObservedStandby {
  if (isDiskFull(error)) {
    const look_again_seconds = look_again_without_space_seconds
    return { ...observedAs('absent', `a replica is waiting: ${noSpaceSentence(directory)}`), look_again_seconds }
  }
  const reason = messageOf(error)
  const look_again_seconds = look_again_after_setback_seconds
  return { ...observedAs('absent', `a replica could not be made and is tried again: ${reason}`), look_again_seconds }
}

/** A server that ran before is read once; a server that was just started gets some time. */
async function findStreaming(
  { primary, name }: StandbySpec,
  { found }: { found: boolean },
): Promise<Sender | undefined> {
  const deadline = performance.now() + (found ? 0 : streaming_wait_ms)
  return await withSuperuser(primary, {}, async (client) => {
    for (;;) {
      const sender = (await listSenders(client)).find((one) => one.name === name)
      if (sender?.state === 'streaming' || performance.now() >= deadline) return sender
      await client.query('select pg_catalog.pg_sleep($1)', [poll_every_ms / 1000])
    }
  })
}

/** Why a start fails for reasons of the host, which a new copy of the data would not change. */
const reasons_of_the_host =
  /No space left|in use|already exists|shared memory|Cannot allocate|Permission denied|Too many/

/** Its server has not started yet. A server that fails to start for long, for no reason of the host, is copied anew. */
async function judgeStart(
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
async function judgeSilence(
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

function observedAs(state: ObservedStandby['state'], waiting_for: string): ObservedStandby {
  return { state, waiting_for, look_again_seconds: look_again_soon_seconds, events: [] }
}
