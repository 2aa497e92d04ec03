// The quickest way to a new primary: the elected replica is promoted as it runs, so that nothing is replayed again, and a relay takes
// the endpoint. Everything else about it stays as it is until its next start, which brings it home to the endpoint.
// 1. Only a node that runs with the settings it should have, and has read whom commits wait for, is promoted so.
// 2. Only where no history lies beyond its own: a running server would follow one that was given up.
import { stat } from 'node:fs/promises'
import type { WantedService } from '../../provider.ts'
import { readIfThere } from '../host/look.ts'
import { findHaproxyProgram } from '../haproxy/process.ts'
import { nodeOf, type Place } from '../host/layout.ts'
import type { HaHost } from './ha-host.ts'
import { majorOf } from '../postgres/data-directory.ts'
import { installationFor, type PostgresInstallation } from '../postgres/installation.ts'
import { ensureStopped, findPostmaster, type Hashes, type Postmaster } from '../postgres/process.ts'
import { pausePooler } from '../pooler/pooler.ts'
import { findEntry } from '../host/tenant-files.ts'
import { isInNetwork } from '../network/service-network.ts'
import { historyOf } from '../wal/timeline.ts'
import { findPrimary, savePrimary } from '../postgres/primary.ts'
import type { Position } from './quorum.ts'
import { ensureRelayGone } from './relay.ts'
import { ensureStandbyFiles } from './standby.ts'
import { isStandby } from './standby-data.ts'
import { ownAddressOf, standbyWishOf } from './standby-wish.ts'
import { ensureStandbysRisen } from './standbys.ts'
import { ensureTailTaken } from './wal-tail.ts'

/** A server that was told to read its files has done so by then, all of its processes, also on a busy machine. */
const read_within_ms = 5_000

/** The node is elected and runs as a standby. `others`: every other node with data, the lost one among them. */
export async function canLeadInPlace(
  host: HaHost,
  place: Place,
  others: readonly Place[],
  { timeline }: Position,
  wanted: WantedService,
): Promise<boolean> {
  const installation = await installationAt(host, place, wanted)
  if (installation === undefined || !(await isStandby(place))) return false
  const later = historyOf(timeline + 1)
  const histories = [place, ...others].map(({ data }) => findEntry(data, `pg_wal/${later}`))
  if ([findEntry(place.archive, later), ...histories].some((one) => one !== undefined)) return false
  const stays = await staysInPlace(host, place, wanted, installation)
  return stays !== undefined && stays.postmaster.ready && (await hasRead(place, stays.postmaster, stays.hashes))
}

/** By which a node that is there is run; undefined when this host has none any more. */
export async function installationAt(
  { installations }: HaHost,
  place: Place,
  { extensions }: WantedService,
): Promise<PostgresInstallation | undefined> {
  const major = await majorOf(place)
  return installationFor(
    installations.filter((one) => one.major === major),
    extensions,
  )
}

/** A relayed primary goes on where it is, or comes home: the place where it is to run. A sentence while it is stopping. */
export async function ensureInPlaceOrHome(
  host: HaHost,
  place: Place,
  wanted: WantedService,
  installation: PostgresInstallation,
): Promise<Place | string> {
  if (await staysInPlace(host, place, wanted, installation)) return place
  const { postmaster } = await findPostmaster(place)
  if (postmaster) {
    host.watch.forget(place.service_id)
    await ensureStandbysRisen(host, place, wanted, installation)
    await pausePooler(host, place)
    const waiting_for = await ensureStopped(host.effect, place)
    if (waiting_for !== undefined) return waiting_for
  }
  return await ensureHomeward(host, place)
}

/** From its next start on it listens at the endpoint itself. Nothing of it may run. */
export async function ensureHomeward(host: HaHost, place: Place): Promise<Place> {
  if (place.role !== 'relayed') return place
  await ensureRelayGone(host, place)
  if (await isStandby(place)) await ensureTailTaken(host.effect, place, 'all')
  const { relayed: _, ...primary } = await findPrimary(place)
  await savePrimary(host.effect, place, primary, primary)
  return nodeOf(place, place.node, 'primary')
}

type Staying = { postmaster: Postmaster; hashes: Hashes }

/** Its server runs as it should as a relayed primary, which is as it should as a replica. */
async function staysInPlace(
  host: HaHost,
  place: Place,
  wanted: WantedService,
  installation: PostgresInstallation,
): Promise<Staying | undefined> {
  if (!ownAddressOf(wanted, place.node) || !(await findHaproxyProgram())) return undefined
  const { postmaster } = await findPostmaster(place)
  if (!postmaster || !(await isInNetwork(host, wanted.network, postmaster.pid))) return undefined
  const hashes = await ensureStandbyFiles(host, standbyWishOf(place, place.node, wanted, installation))
  return postmaster.settings_hash === hashes.settings_hash ? { postmaster, hashes } : undefined
}

/** Whether the files are as it was started with, or was told long enough ago. */
async function hasRead(place: Place, postmaster: Postmaster, { files_hash }: Hashes): Promise<boolean> {
  const [pid, told] = (await readIfThere(place.reloaded))?.split(' ') ?? []
  if (pid !== String(postmaster.pid)) return postmaster.files_hash === files_hash
  return told === files_hash && Date.now() - (await stat(place.reloaded)).mtimeMs > read_within_ms
}
