// The server of a service's primary: it runs with the wanted settings, and is started, or stopped and started again,
// as needed. A planned restart is a pause for clients of the pooler, and finds the replicas ready for it.
import type { ObservedEvent, Size, WantedService } from '../../provider.ts'
import { noteStartFailed } from '../ha/trouble.ts'
import { findLock } from '../host/lock.ts'
import type { PostgresInstallation } from '../postgres/installation.ts'
import { groupOf, type Node } from '../host/layout.ts'
import type { ServiceHost } from './service-host.ts'
import { ensurePaused, pausePooler } from '../pooler/pooler.ts'
import { portTrouble } from '../postgres/port.ts'
import {
  end_of_wal,
  ensureReloaded,
  ensureStopped,
  findPostmaster,
  killed_at_start,
  readyPostmaster,
  startPostmaster,
  still_starting,
  type Hashes,
  type Postmaster,
} from '../postgres/process.ts'
import { isInNetwork, networkPrefix } from '../network/service-network.ts'
import { progress, setback } from '../../setback.ts'
import type { Observed } from './observed.ts'
import { isStandby } from '../ha/standby-data.ts'
import { ensureStandbysRaised } from '../ha/standbys.ts'

/** The watch does not know it yet, and the next start may well succeed. */
const look_again_when_killed_seconds = 0.2

export type Start = Hashes & { installation: PostgresInstallation }

/** A ready postmaster that was started with these settings; else what is observed meanwhile. */
export async function ensureRunning(
  host: ServiceHost,
  node: Node,
  wanted: WantedService,
  start: Start,
  events: ObservedEvent[],
): Promise<Postmaster | Observed> {
  const { effect } = host
  const { postmaster, died } = await findPostmaster(node)
  const quota_bytes = host.quotaBytesOf(wanted.size)
  // A server that does not run yet needs disk space to start.
  const unlimited = quota_bytes && (await host.projects?.ensure(node, quota_bytes, postmaster === undefined))
  if (unlimited) events.push({ kind: 'disk_quota', message: unlimited })
  if (!postmaster) return await startHere(host, node, wanted, start, events, died)
  const in_network = await isInNetwork(host, wanted.vpc_id, postmaster.pid)
  // Told to stop by another program, it would refuse clients for as long as one stays.
  if (postmaster.settings_hash === start.settings_hash && in_network && !postmaster.stopping) {
    if (!postmaster.ready) await ensureLimits(host, node, wanted.size)
    const ready = postmaster.ready ? postmaster : await readyPostmaster(node)
    if (!ready) return progress('not_serving', still_starting)
    // Not before: the signal would kill a server that has just begun to start.
    await ensureReloaded(effect, node, ready, start.files_hash)
    return ready
  }
  host.watch.forget(node.service_id)
  await ensureStandbysRaised(host, node, wanted, start.installation)
  await pausePooler(host, node)
  const waiting_for = await ensureStopped(effect, node)
  if (waiting_for !== undefined) return progress('not_serving', waiting_for)
  return await startHere(host, node, wanted, start, events, false)
}

export async function ensureLimits(
  { effect, limits }: ServiceHost,
  node: Node,
  size: Size | 'starting',
): Promise<void> {
  await effect('limits: set')
  await limits.ensure(groupOf(node), size)
}

/** Called when no server runs there. */
async function startHere(
  host: ServiceHost,
  node: Node,
  wanted: WantedService,
  { installation, ...hashes }: Start,
  events: ObservedEvent[],
  died: boolean,
): Promise<Postmaster | Observed> {
  const { effect, limits } = host
  if (died) await ensurePaused(host, node)
  // Reported before the time that a start and a recovery take.
  if (died && !host.deaths_told.has(node.service_id)) {
    const message = 'PostgreSQL has died and is started again'
    host.deaths_told.set(node.service_id, message)
    return setback('not_serving', message, 0)
  }
  if ((await findLock(node)) === 'copying while it stands still') {
    return progress('not_serving', 'its data is being copied; it starts right after')
  }
  const taken = await portTrouble(wanted.reach, wanted.vpc_id)
  if (taken !== undefined) return setback('not_serving', taken)
  // A start is a burst of work: half a core would double the time until it serves. Its own limits follow at once.
  await ensureLimits(host, node, 'starting')
  const network_prefix = networkPrefix(host, wanted.vpc_id)
  // A replica that takes over would answer at the primary's endpoint with what it has replayed so far.
  const closed_in_recovery = await isStandby(node)
  const began = { ...hashes, bin: installation.bin, network_prefix, closed_in_recovery }
  const started = await startPostmaster(effect, node, { ...began, limits, died })
  const begun = typeof started !== 'string' || started === still_starting
  if (died && begun) {
    events.push({ kind: 'restarted', message: 'PostgreSQL died and was started again' })
  }
  if (typeof started !== 'string') return started
  if (!begun) await noteStartFailed(effect, node)
  const look_again_seconds = started === killed_at_start ? look_again_when_killed_seconds : undefined
  return { ...setback('not_serving', started, look_again_seconds), in_progress: begun || started === end_of_wal }
}
