// A pass over one service on this host, from top to bottom: what is wanted, what is observed, what is done about
// it. Every step reads first, so a pass repeats nothing that already holds and finishes what a killed one began.
// A service has one primary, which is meant wherever nothing else is said, and replicas that follow it.
import type { ObservedEvent, ObservedService, WantedService } from '../../provider.ts'
import { ensureDataDirectory, ensureHome, installationAt, isLost } from '../postgres/data-directory.ts'
import { isDiskFull, statIfThere } from '../../host/read.ts'
import { ensurePrimary, type ObservedPrimary } from '../ha/failover.ts'
import { ensureForked, findSource } from '../snapshot/fork.ts'
import { listeningAt, noSpaceSentence, nodeOf, type Node } from '../host/layout.ts'
import type { ServiceHost } from './service-host.ts'
import { isReplaceable } from '../postgres/nodes.ts'
import { ensureResumed } from '../pooler/pooler.ts'
import { inForce } from '../postgres/port-in-force.ts'
import { findLeader } from '../postgres/primary.ts'
import { ensurePromoted, rejoinJobOf, startAsPrimary } from '../ha/promotion.ts'
import { ensureReplayable, ensureReplayRemoved } from '../wal/replay.ts'
import { spare_job } from '../postgres/spare.ts'
import { findPostmaster, type Postmaster } from '../postgres/process.ts'
import { ensureInNetwork } from '../network/service-network.ts'
import { findLastWantedService } from './last-wanted.ts'
import { progress, setback } from '../../setback.ts'
import { lost, withMore, type Observed } from './observed.ts'
import { ensureWritersStopped } from './writes.ts'
import { withPooler } from './pooling.ts'
import { ensureLimits, ensureRunning, type Start } from './server.ts'
import { beginSnapshot, ensureSnapshots } from '../snapshot/snapshot.ts'
import { StandsStill } from '../postgres/standstill.ts'
import { UnmadeExtension } from '../postgres/extensions.ts'
import { tenantSetbackOf } from '../postgres/tenant-setback.ts'
import { isStandby } from '../ha/standby-data.ts'
import { together } from '../../host/together.ts'
import { Planted } from '../host/tenant-files.ts'
import { ensureStandbys } from '../ha/standbys.ts'
import { ensureRelayedOrMoved } from '../ha/in-place.ts'
import { ensureRelay, ensureRelayOpen } from '../ha/relay.ts'
import { nodeName } from '../ha/synchronous.ts'
import { ensureOff, ensureServiceRemoved } from './ending.ts'
import { withExchange } from './exchange.ts'
import { ensureLogin } from './login.ts'
import { ensureMasked } from './prepared.ts'
import { ensureStartFiles, startWith } from './start-files.ts'

const look_again_when_hopeless_seconds = 60

export async function applyService(host: ServiceHost, wanted: WantedService): Promise<ObservedService> {
  const own = nodeOf(host.directory, wanted.service_id, wanted.home.port, host.as_root)
  const known = await statIfThere(own.home)
  const observed = await observe(host, own, wanted)
  // A caller that waits for a new service, or for a new primary, does not wait for the spare of the next service.
  if (known) {
    host.beginSpare()
    if (!isReplaceable(wanted)) await host.jobs.wait(spare_job)
  }
  return observed
}

async function observe(host: ServiceHost, own: Node, wanted: WantedService): Promise<ObservedService> {
  const base = listeningAt(own, wanted.reach.port)
  try {
    if (wanted.deleted) return { ...(await ensureServiceRemoved(host, base)), snapshots: [] }
    return await withExchange(host, base, wanted, () => observeInForce(host, base, wanted))
  } catch (error) {
    // A planted entry in its folders must not be touched; nothing more can be known.
    if (error instanceof Planted) return { ...setback('not_serving', error.message), snapshots: [] }
    throw error
  } finally {
    // This job starts a server, which only a pass may do that has its turn.
    await host.jobs.end(rejoinJobOf(base))
  }
}

async function observeInForce(host: ServiceHost, base: Node, wanted: WantedService): Promise<ObservedService> {
  const { node, events, waiting_for, not_replaced } = await leaderFor(host, base, wanted)
  if (waiting_for !== undefined) return { ...setback('not_serving', waiting_for), events, snapshots: [] }
  const of_primary = await ensureAsWanted(host, node, wanted).catch(async (error: unknown) => {
    // Where a replica can take over, the next pass, which follows at once, lets it.
    if (error instanceof StandsStill) {
      return setback('not_serving', error.message, isReplaceable(wanted) ? 0 : undefined)
    }
    const known = error instanceof UnmadeExtension ? error : tenantSetbackOf(error)
    if (known) return setback('not_serving', known.message)
    if (!isDiskFull(error)) throw error
    return setback(await stateOf(node), noSpaceSentence(host.directory))
  })
  const of_server = not_replaced === undefined ? of_primary : withReason(of_primary, not_replaced)
  const observed = { ...of_server, events: [...events, ...of_server.events] }
  // A pass that is followed by the next at once does not wait for copies.
  if (observed.look_again_seconds === 0 || !(await statIfThere(node.data))) return { ...observed, snapshots: [] }
  // A service that waits for its VPC still runs where it was.
  const { snapshots, restorable, ...copying } = await ensureSnapshots(host, await inForce(node), wanted)
  const archive_presses = host.quota_watch.find(wanted.service_id)?.state?.presses === true
  return {
    ...withMore(observed, { ...copying, settled: true, events: [] }),
    snapshots,
    ...(restorable && { restorable }),
    ...(archive_presses && { archive_presses }),
  }
}

/** Of a primary that does not start. */
function withReason(observed: Observed, not_replaced: string): Observed {
  if (observed.waiting_for === undefined) return observed
  return { ...observed, waiting_for: `${observed.waiting_for}; no replica takes over: ${not_replaced}` }
}

/** Replaces a lost primary; a service that should not run has none to lose. */
async function leaderFor(host: ServiceHost, base: Node, wanted: WantedService): Promise<ObservedPrimary> {
  if (wanted.power === 'on') return await ensurePrimary(host, base, wanted)
  return { node: await findLeader(base), events: [] }
}

async function ensureAsWanted(host: ServiceHost, found: Node, wanted: WantedService): Promise<Observed> {
  if (await isLost(found, wanted)) return lost(found)
  let node = found
  const written: Start[] = []
  const source = await findSource(host, node, wanted)
  if (source !== undefined) {
    await ensureHome(host.effect, node)
    // There is time for it while the data is copied. Should that need another version, it is written once more.
    const meanwhile = async () => {
      const likely = await installationAt(host, node, wanted)
      if (typeof likely === 'string') return
      written.push(await ensureStartFiles(host, node, wanted, likely))
    }
    const parent = await findLastWantedService(host.directory, source.service_id)
    const waiting =
      wanted.mask === undefined || wanted.source === undefined
        ? await ensureForked(host, node, source, { parent, meanwhile })
        : await ensureMasked(host, node, wanted, wanted.source)
    if (waiting) return { state: 'absent', settled: false, events: [], ...waiting }
  }
  const installation = await installationAt(host, node, wanted)
  if (typeof installation === 'string') return setback(await stateOf(node), installation)
  if (node.role === 'relayed' && wanted.power === 'on') {
    const leader = await ensureRelayedOrMoved(host, node, wanted, installation)
    if (typeof leader === 'string') return progress('not_serving', leader)
    node = leader
  }
  await ensureHome(host.effect, node)
  await host.log_watch.ensureKept(node.log)
  const [start] = await together(
    startWith(host, node, wanted, installation, written),
    ensureDataDirectory(host, node, () => host.template(installation)),
  )
  if (wanted.power === 'off') return await ensureOff(host, node)
  const observed = await ensureServing(host, node, wanted, start)
  return await withPooler(host, node, wanted, observed)
}

async function ensureServing(host: ServiceHost, node: Node, wanted: WantedService, start: Start): Promise<Observed> {
  const events: ObservedEvent[] = []
  const hopeless = await ensureReplayable(host.effect, node)
  if (hopeless !== undefined) {
    const look_again_seconds = look_again_when_hopeless_seconds
    return { state: 'not_serving', settled: false, failed: true, waiting_for: hopeless, look_again_seconds, events }
  }
  host.vpc_watch.assign(node.service_id, wanted.vpc_id)
  const no_network = await ensureInNetwork(host, wanted.vpc_id, wanted.reach)
  if (no_network !== undefined) return progress(await stateOf(node), no_network)
  const [leading, relay] = await together(
    ensureLeads(host, node, wanted, start, events),
    node.role === 'relayed' ? ensureRelay(host, node, wanted) : none,
  )
  if ('state' in leading) return { ...leading, events }
  const { postmaster, promoted } = leading
  if (relay) {
    events.push(...relay.events)
    if (relay.waiting_for !== undefined) return { ...setback('not_serving', relay.waiting_for), events }
    await ensureRelayOpen(host, node)
  }
  // Data that was exchanged may lack the password and the pooler's role: then clients wait until the pooler's turn.
  if (host.roles_observed.has(node.service_id)) await ensureResumed(host, node)
  host.deaths_told.delete(node.service_id)
  try {
    watch(host, node, wanted, postmaster)
    await ensureWritersStopped(host, node)
    await ensureReplayRemoved(host.effect, node)
    // After a failover commits may be waiting for replicas, and those come first.
    if (!promoted) await beginSnapshot(host, node, wanted)
    const leader = { node, postmaster, installation: start.installation }
    const [login, standbys] = await together(
      ensureLogin(host, node, wanted, postmaster),
      ensureStandbys(host, leader, wanted),
    )
    const observed = withMore(login, standbys)
    return { ...observed, events: [...events, ...observed.events] }
  } finally {
    await ensureLimits(host, node, wanted.size)
  }
}

const none = Promise.resolve(undefined)

/** Its server runs and takes writes; else what is observed meanwhile. `promoted`: it does so since this pass. */
async function ensureLeads(
  host: ServiceHost,
  node: Node,
  wanted: WantedService,
  start: Start,
  events: ObservedEvent[],
): Promise<{ postmaster: Postmaster; promoted: boolean } | Observed> {
  const was_replica = await isStandby(node)
  const run = () => ensureRunning(host, node, wanted, start, events)
  const postmaster = await (was_replica ? startAsPrimary(host.effect, node, run) : run())
  if ('state' in postmaster) return postmaster
  const { promoted, waiting_for } = await ensurePromoted(host, node, was_replica)
  if (waiting_for !== undefined) return progress('not_serving', waiting_for)
  if (promoted) events.push({ kind: 'promoted', message: `node ${node.number} is the primary and takes writes` })
  return { postmaster, promoted }
}

/** Where a replica can take over, its death and its silence are noticed at once. */
function watch(host: ServiceHost, node: Node, wanted: WantedService, { pid }: Postmaster): void {
  const urgent = { urgent: true, listening: node, data: node.data }
  host.watch.track(node.service_id, pid, isReplaceable(wanted) ? urgent : { data: node.data })
  host.watch.forget(`${node.service_id}/${nodeName(node.number)}`)
  host.archive_watch.track(node)
  host.disk_space_watch.track(node, pid)
  const quota_bytes = host.quotaBytesOf(wanted.size)
  if (quota_bytes !== undefined) host.quota_watch.track(node, { pid, quota_bytes })
}

/** What is known without changing anything, when an earlier step did not succeed. */
async function stateOf(node: Node): Promise<ObservedService['state']> {
  if (!(await statIfThere(node.data))) return 'absent'
  return (await findPostmaster(node)).postmaster ? 'unknown' : 'not_serving'
}
