// The whole story of one service on this host, from top to bottom: what is wanted, what is found, what is done about
// it. Every step looks first, so a call repeats nothing that already holds and finishes what a killed one began.
import type { Happening, ObservedService, Size, WantedService } from '../provider.ts'
import { archiveTrouble } from './archive.ts'
import { ensureDataDirectory, ensureDataGone, ensureHome, majorOf } from './data-directory.ts'
import { isDiskFull, statIfThere } from './effect.ts'
import { ensureForked } from './fork.ts'
import { findHold } from './hold.ts'
import { installationFor, missingExtensionSentence, type PostgresInstallation } from './installation.ts'
import { noSpaceSentence, placeOf, type Place } from './layout.ts'
import type { LocalHost } from './local-host.ts'
import { ensureLogRetention } from './log/retention.ts'
import { ensureMasterRole } from './master-role.ts'
import { ensurePoolerGone, pausePooler } from './pooler.ts'
import { portIsFree } from './port.ts'
import { probe } from './probe.ts'
import { ensureReplayable, ensureReplayForgotten } from './replay.ts'
import { ensureCertificate } from './server-certificate.ts'
import { ensureServerFiles } from './server-files.ts'
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
} from './server-process.ts'
import { withPooler } from './service-pooler.ts'
import { ensureSharedMemoryGone } from './shared-memory.ts'
import { beginSnapshot, ensureSnapshots } from './snapshot.ts'

const look_again_soon_seconds = 1
const look_again_after_setback_seconds = 3
/** A death and a stalled archive are noticed by themselves; this is for what only a login shows, which costs some CPU. */
const look_again_when_well_seconds = 300
const look_again_when_hopeless_seconds = 60

type Start = Hashes & { bin: string }

/** What is seen of the service itself; its snapshots are looked at last. */
type Seen = Omit<ObservedService, 'snapshots'>

export async function applyService(host: LocalHost, wanted: WantedService): Promise<ObservedService> {
  const place = placeOf(host.directory, wanted.service_id, wanted.endpoint.port, host.as_root)
  if (wanted.deleted) return { ...(await ensureGone(host, place)), snapshots: [] }
  const seen = await ensureAsWanted(host, place, wanted).catch(async (error: unknown) => {
    if (!isDiskFull(error)) throw error
    return setback(await stateOf(place), noSpaceSentence(host.directory))
  })
  // What asks to be looked at again at once does not wait for copies.
  if (seen.look_again_seconds === 0 || !(await statIfThere(place.data))) return { ...seen, snapshots: [] }
  const { snapshots, ...copying } = await ensureSnapshots(host, place, wanted)
  const pace = Math.min(seen.look_again_seconds ?? Infinity, copying.look_again_seconds ?? Infinity)
  return { ...copying, ...seen, snapshots, ...(pace < Infinity && { look_again_seconds: pace }) }
}

async function ensureAsWanted(host: LocalHost, place: Place, wanted: WantedService): Promise<Seen> {
  if (wanted.source && !(await statIfThere(place.data))) {
    await ensureHome(host.effect, place)
    // Costs some computing, for which there is time while the parent is being copied.
    await ensureCertificate(host.effect, place, host.authority, wanted.endpoint.host)
    const waiting = await ensureForked(host, place, wanted.source)
    if (waiting) return { state: 'absent', settled: false, happenings: [], ...waiting }
  }
  const installation = await findInstallation(host, place, wanted)
  if (typeof installation === 'string') return setback(await stateOf(place), installation)
  await ensureHome(host.effect, place)
  await ensureLogRetention(host.effect, place.log, host.log_retention)
  const [hashes] = await together(
    ensureFiles(host, place, wanted, installation),
    ensureDataDirectory(host.effect, place, () => host.template(installation)),
  )
  if (wanted.power === 'off') return await ensureOff(host, place)
  return await ensureServing(host, place, wanted, { ...hashes, bin: installation.bin })
}

async function ensureGone(host: LocalHost, place: Place): Promise<Seen> {
  host.watch.forget(place.service_id)
  host.archive_watch.forget(place.service_id)
  host.roles_seen.delete(place.service_id)
  host.deaths_told.delete(place.service_id)
  host.stalls_told.delete(place.service_id)
  host.pruned_seen.delete(place.service_id)
  await host.jobs.end(place.service_id)
  if (await findHold(place)) return setback('unknown', 'another server is copying its data', look_again_soon_seconds)
  await ensurePoolerGone(host, place)
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
  await ensurePoolerGone(host, place)
  const waiting_for = await ensureStopped(host.effect, place)
  if (waiting_for !== undefined) return setback('not_serving', waiting_for, look_again_soon_seconds)
  return { state: 'stopped', settled: true, happenings: [] }
}

async function ensureServing(host: LocalHost, place: Place, wanted: WantedService, start: Start): Promise<Seen> {
  const happenings: Happening[] = []
  const hopeless = await ensureReplayable(host.effect, place)
  if (hopeless !== undefined) {
    const look_again_seconds = look_again_when_hopeless_seconds
    return { state: 'not_serving', settled: false, failed: true, waiting_for: hopeless, look_again_seconds, happenings }
  }
  const postmaster = await ensureRunning(host, place, wanted, start, happenings)
  if ('state' in postmaster) return { ...postmaster, happenings }
  host.deaths_told.delete(place.service_id)
  try {
    host.watch.track(place.service_id, postmaster.pid)
    host.archive_watch.track(place)
    await ensureReplayForgotten(host.effect, place)
    await beginSnapshot(host, place, wanted)
    const seen = await ensureLogin(host, place, wanted, postmaster)
    return await withPooler(host, place, wanted, { ...seen, happenings })
  } finally {
    await ensureLimits(host, place, wanted.size)
  }
}

async function ensureFiles(
  host: LocalHost,
  place: Place,
  wanted: WantedService,
  installation: PostgresInstallation,
): Promise<Hashes> {
  const { size, endpoint } = wanted
  await ensureCertificate(host.effect, place, host.authority, endpoint.host)
  return await ensureServerFiles(host, installation, { size, endpoint, place })
}

/** A ready postmaster that was started with these settings; started, or stopped and started again, as needed. */
async function ensureRunning(
  host: LocalHost,
  place: Place,
  wanted: WantedService,
  start: Start,
  happenings: Happening[],
): Promise<Postmaster | Seen> {
  const { effect, limits } = host
  const found = await findPostmaster(place)
  const stale = found.postmaster !== undefined && found.postmaster.settings_hash !== start.settings_hash
  if (stale) {
    host.watch.forget(place.service_id)
    // It goes on when PostgreSQL serves again.
    await pausePooler(host, place)
    const waiting_for = await ensureStopped(effect, place)
    if (waiting_for !== undefined) return setback('not_serving', waiting_for, look_again_soon_seconds)
  }
  if (found.postmaster && !stale) await ensureReloaded(effect, place, found.postmaster, start.files_hash)
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
  if (!(await portIsFree(address, port))) {
    return setback(
      'not_serving',
      `port ${port} on ${address} is in use by another program; it starts when the port is free`,
    )
  }
  // A start is a burst of work: half a core would double the time until it serves. Its own limits follow at once.
  await ensureLimits(host, place, 'shared')
  const started = await startPostmaster(effect, place, { ...start, limits, died: found.died })
  const begun = typeof started !== 'string' || started === still_starting
  if (found.died && begun) {
    happenings.push({ kind: 'restarted', message: 'PostgreSQL had ended by itself and was started again' })
  }
  return typeof started === 'string' ? setback('not_serving', started) : started
}

async function ensureLimits({ effect, limits }: LocalHost, { service_id }: Place, size: Size): Promise<void> {
  await effect('limits: set')
  await limits.ensure(service_id, size)
}

/** The master role can log in with the wanted password, as seen from outside. */
async function ensureLogin(host: LocalHost, place: Place, wanted: WantedService, { pid }: Postmaster): Promise<Seen> {
  const { endpoint, password_verifier } = wanted
  const seen = `${pid}/${wanted.generation}`
  const probed = () => probe({ endpoint, password_verifier, authority_pem: host.authority.certificate_pem })
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
