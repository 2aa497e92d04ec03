// The whole story of one service on this host, from top to bottom: what is wanted, what is found, what is done about
// it. Every step looks first, so a call repeats nothing that already holds and finishes what a killed one began.
import type { Happening, ObservedService, Size, WantedNetwork, WantedService } from '../provider.ts'
import { archiveTrouble, hasArchiveModule } from './archive.ts'
import { ensureDataDirectory, ensureDataGone, ensureHome, majorOf } from './data-directory.ts'
import { ensureFile, isDiskFull, statIfThere } from './effect.ts'
import { ensureForked } from './fork.ts'
import { findHold } from './hold.ts'
import { installationFor, missingExtensionSentence, type PostgresInstallation } from './installation.ts'
import { listeningAt, noSpaceSentence, placeOf, type Place } from './layout.ts'
import type { LocalHost } from './local-host.ts'
import { ensureLogRetention, rotationMbOf } from './log/retention.ts'
import { ensureMasterRole } from './master-role.ts'
import { inForce } from './port-in-force.ts'
import { portIsFree } from './port.ts'
import { probe } from './probe.ts'
import { ensureReplayable, ensureReplayForgotten } from './replay.ts'
import { ensureCertificate } from './server-certificate.ts'
import {
  ensureKilled,
  ensureStopped,
  findPostmaster,
  readyPostmaster,
  startPostmaster,
  still_starting,
  type Postmaster,
} from './server-process.ts'
import { ensureAddress, isInNetwork, listenOf, networkPrefix, probeInside } from './service-network.ts'
import { hashOf, hbaOf, identOf, settingsOf } from './settings.ts'
import { ensureSharedMemoryGone } from './shared-memory.ts'
import { beginSnapshot, ensureSnapshots } from './snapshot.ts'

const look_again_soon_seconds = 1
const look_again_after_setback_seconds = 3
/** A death and a stalled archive are noticed by themselves; this is for what only a login shows, which costs some CPU. */
const look_again_when_well_seconds = 300
const look_again_when_hopeless_seconds = 60

/** What is seen of the service itself; its snapshots are looked at last. */
type Seen = Omit<ObservedService, 'snapshots'>

export async function applyService(host: LocalHost, wanted: WantedService): Promise<ObservedService> {
  const own = placeOf(host.directory, wanted.service_id, wanted.endpoint.port, host.as_root)
  const place = listeningAt(own, listenOf(wanted).port)
  if (wanted.deleted) return { ...(await ensureGone(host, place)), snapshots: [] }
  const seen = await ensureAsWanted(host, place, wanted).catch(async (error: unknown) => {
    if (!isDiskFull(error)) throw error
    return setback(await stateOf(place), noSpaceSentence(host.directory))
  })
  // What asks to be looked at again at once does not wait for copies.
  if (seen.look_again_seconds === 0 || !(await statIfThere(place.data))) return { ...seen, snapshots: [] }
  // One that waits for its VPC still runs where it was.
  const { snapshots, ...copying } = await ensureSnapshots(host, await inForce(place), wanted)
  const pace = Math.min(seen.look_again_seconds ?? Infinity, copying.look_again_seconds ?? Infinity)
  return { ...copying, ...seen, snapshots, ...(pace < Infinity && { look_again_seconds: pace }) }
}

async function ensureAsWanted(host: LocalHost, place: Place, wanted: WantedService): Promise<Seen> {
  if (wanted.source && !(await statIfThere(place.data))) {
    await ensureHome(host.effect, place)
    // Costs some computing, for which there is time while the parent is being copied.
    await ensureCertificate(host.effect, place, host.authority, hostsOf(wanted))
    const waiting = await ensureForked(host, place, wanted.source)
    if (waiting) return { state: 'absent', settled: false, happenings: [], ...waiting }
  }
  const installation = await findInstallation(host, place, wanted)
  if (typeof installation === 'string') return setback(await stateOf(place), installation)
  await ensureHome(host.effect, place)
  await ensureLogRetention(host.effect, place.log, host.log_retention)
  const [settings_hash] = await together(
    ensureSettings(host, place, wanted, installation),
    ensureDataDirectory(host.effect, place, () => host.template(installation)),
  )
  if (wanted.power === 'off') return await ensureOff(host, place)
  return await ensureServing(host, place, wanted, installation.bin, settings_hash)
}

async function ensureGone(host: LocalHost, place: Place): Promise<Seen> {
  host.watch.forget(place.service_id)
  host.archive_watch.forget(place.service_id)
  host.roles_seen.delete(place.service_id)
  host.deaths_told.delete(place.service_id)
  host.stalls_told.delete(place.service_id)
  host.pruned_seen.delete(place.service_id)
  host.vpc_watch.place(place.service_id, undefined)
  await host.jobs.end(place.service_id)
  if (await findHold(place)) return setback('unknown', 'another server is copying its data', look_again_soon_seconds)
  await ensureKilled(host.effect, place)
  if (place.owner) await ensureSharedMemoryGone(host.effect, place.owner)
  await host.effect('limits: remove')
  await host.limits.remove(place.service_id)
  await ensureDataGone(host.effect, place)
  return { state: 'absent', settled: true, happenings: [] }
}

async function ensureOff(host: LocalHost, place: Place): Promise<Seen> {
  host.watch.forget(place.service_id)
  host.archive_watch.forget(place.service_id)
  const waiting_for = await ensureStopped(host.effect, place)
  if (waiting_for !== undefined) return setback('not_serving', waiting_for, look_again_soon_seconds)
  return { state: 'stopped', settled: true, happenings: [] }
}

async function ensureServing(
  host: LocalHost,
  place: Place,
  wanted: WantedService,
  bin: string,
  settings_hash: string,
): Promise<Seen> {
  const happenings: Happening[] = []
  const hopeless = await ensureReplayable(host.effect, place)
  if (hopeless !== undefined) {
    const look_again_seconds = look_again_when_hopeless_seconds
    return { state: 'not_serving', settled: false, failed: true, waiting_for: hopeless, look_again_seconds, happenings }
  }
  host.vpc_watch.place(place.service_id, wanted.network?.vpc_id)
  const no_network = wanted.network && (await ensureInVpc(host, wanted.network))
  if (no_network !== undefined) return setback(await stateOf(place), no_network, look_again_soon_seconds)
  const postmaster = await ensureRunning(host, place, wanted, bin, settings_hash, happenings)
  if ('state' in postmaster) return { ...postmaster, happenings }
  host.deaths_told.delete(place.service_id)
  try {
    host.watch.track(place.service_id, postmaster.pid)
    host.archive_watch.track(place)
    await ensureReplayForgotten(host.effect, place)
    await beginSnapshot(host, place, wanted)
    return { ...(await ensureLogin(host, place, wanted, postmaster)), happenings }
  } finally {
    await ensureLimits(host, place, wanted.size)
  }
}

/** Writes the files that the server reads at its start and returns a hash of all they say. */
async function ensureSettings(
  host: LocalHost,
  place: Place,
  wanted: WantedService,
  { major, bin }: PostgresInstallation,
): Promise<string> {
  const { size } = wanted
  const endpoint = listenOf(wanted)
  const archive_module = await hasArchiveModule(bin)
  const { memory_mb: host_memory_mb } = host
  const log_rotation_mb = rotationMbOf(host.log_retention)
  const settings = settingsOf({ size, endpoint, place, major, archive_module, host_memory_mb, log_rotation_mb })
  const [hba, ident] = [hbaOf(), identOf(host.control_plane_user)]
  const fingerprint = await ensureCertificate(host.effect, place, host.authority, hostsOf(wanted))
  await ensureFile(host.effect, 'settings', place.settings, settings, place.owner)
  await ensureFile(host.effect, 'client rules', place.hba, hba, place.owner)
  await ensureFile(host.effect, 'user map', place.ident, ident, place.owner)
  return hashOf([settings, hba, ident, fingerprint])
}

/** A ready postmaster that was started with these settings; started, or stopped and started again, as needed. */
async function ensureRunning(
  host: LocalHost,
  place: Place,
  wanted: WantedService,
  bin: string,
  settings_hash: string,
  happenings: Happening[],
): Promise<Postmaster | Seen> {
  const { effect, limits } = host
  const found = await findPostmaster(place)
  const stale = found.postmaster !== undefined && !(await isAsWanted(host, wanted, found.postmaster, settings_hash))
  if (stale) {
    host.watch.forget(place.service_id)
    const waiting_for = await ensureStopped(effect, place)
    if (waiting_for !== undefined) return setback('not_serving', waiting_for, look_again_soon_seconds)
  }
  if (found.postmaster?.ready && !stale) return found.postmaster
  if (found.postmaster && !stale) {
    await ensureLimits(host, place, wanted.size)
    const ready = await readyPostmaster(place)
    return ready ?? setback('not_serving', still_starting, look_again_soon_seconds)
  }
  // What does not serve is said not to, before the time that a start and a recovery take.
  if (found.died && !host.deaths_told.has(place.service_id)) {
    host.deaths_told.add(place.service_id)
    return setback('not_serving', 'PostgreSQL has ended by itself and is started again', 0)
  }
  if ((await findHold(place)) === 'copying while it stands still') {
    return setback('not_serving', 'its data is being copied; it starts right after', look_again_soon_seconds)
  }
  const { host: address, port } = wanted.endpoint
  if (!wanted.network && !(await portIsFree(address, port))) {
    return setback(
      'not_serving',
      `port ${port} on ${address} is in use by another program; it starts when the port is free`,
    )
  }
  // A start is a burst of work: half a core would double the time until it serves. Its own limits follow at once.
  await ensureLimits(host, place, 'shared')
  const network_prefix = networkPrefix(host, wanted.network)
  const start = { bin, settings_hash, limits, network_prefix, died: found.died }
  const started = await startPostmaster(effect, place, start)
  const begun = typeof started !== 'string' || started === still_starting
  if (found.died && begun) {
    happenings.push({ kind: 'restarted', message: 'PostgreSQL had ended by itself and was started again' })
  }
  return typeof started === 'string' ? setback('not_serving', started) : started
}

/** Started with these settings, and in the network where it is wanted. */
async function isAsWanted(host: LocalHost, { network }: WantedService, postmaster: Postmaster, settings_hash: string) {
  return postmaster.settings_hash === settings_hash && (await isInNetwork(host, network, postmaster.pid))
}

async function ensureInVpc(host: LocalHost, { vpc_id, address }: WantedNetwork): Promise<string | undefined> {
  return (await host.networkRefusal()) ?? (await ensureAddress(host, vpc_id, address))
}

async function ensureLimits({ effect, limits }: LocalHost, { service_id }: Place, size: Size): Promise<void> {
  await effect('limits: set')
  await limits.ensure(service_id, size)
}

/** The master role can log in with the wanted password, as seen from outside. */
async function ensureLogin(host: LocalHost, place: Place, wanted: WantedService, { pid }: Postmaster): Promise<Seen> {
  const { network, password_verifier } = wanted
  const endpoint = listenOf(wanted)
  const seen = `${pid}/${wanted.generation}`
  const wish = { endpoint, password_verifier, authority_pem: host.authority.certificate_pem }
  const probed = () => (network ? probeInside(host, network, wish) : probe(wish))
  const known = host.roles_seen.get(place.service_id) === seen
  let login = known ? await probed() : undefined
  if (login?.result !== 'ok') {
    await ensureMasterRole(host.effect, place, wanted)
    host.roles_seen.set(place.service_id, seen)
    login = await probed()
  }
  if (login.result === 'ok') {
    const waiting_for = await archiveTrouble(host.effect, place, host.stalls_told)
    if (waiting_for !== undefined) return { ...setback('not_serving', waiting_for), settled: true }
    return { state: 'serving', settled: true, look_again_seconds: look_again_when_well_seconds, happenings: [] }
  }
  const reason = login.result === 'failed' ? login.reason : 'the password in force is another one'
  return setback('not_serving', `a login at ${endpoint.host}:${endpoint.port} does not work yet: ${reason}`)
}

/** Its certificate names the address that it goes back to as well, so that going back needs no new one. */
const hostsOf = (wanted: WantedService) => [...new Set([wanted.endpoint.host, listenOf(wanted).host])]

/** Data is run by the major version that made it; among those, one that has the extensions. A sentence: there is none. */
async function findInstallation(host: LocalHost, place: Place, { extensions }: WantedService) {
  const major = await majorOf(place)
  const fitting = host.installations.filter((installation) => major === undefined || installation.major === major)
  if (major !== undefined && fitting.length === 0) {
    return `its data needs PostgreSQL ${major}, which this host no longer has; install it, or name its directory`
  }
  return installationFor(fitting, extensions) ?? missingExtensionSentence(fitting, extensions)
}

/** Both at once; a failure is thrown when neither goes on any more, so that nothing happens behind the caller's back. */
async function together<A, B>(one: Promise<A>, other: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([one, other])
  return [await one, await other]
}

/** What can be said without changing anything, when a step before the last one did not succeed. */
async function stateOf(place: Place): Promise<ObservedService['state']> {
  if (!(await statIfThere(place.data))) return 'absent'
  return (await findPostmaster(place)).postmaster ? 'unknown' : 'not_serving'
}

function setback(
  state: ObservedService['state'],
  waiting_for: string,
  look_again_seconds = look_again_after_setback_seconds,
): Seen {
  return { state, settled: false, waiting_for, look_again_seconds, happenings: [] }
}
