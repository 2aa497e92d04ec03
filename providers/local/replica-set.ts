// The whole story of one read replica set on this host: standbys of a service's primary that only read, behind one
// endpoint. Like a service it is looked at first and then moved towards what is wanted; it belongs to the same
// operating-system user as its service, because whoever is that user has the data anyway.
import type { ObservedReplicaSet, WantedReplicaSet } from '../provider.ts'
import { ensureDataGone } from './data-directory.ts'
import { findHold } from './hold.ts'
import { listeningAt, placeOf, type Place } from './layout.ts'
import type { LocalHost } from './local-host.ts'
import { ensureKilled } from './server-process.ts'

const look_again_soon_seconds = 1
const look_again_after_setback_seconds = 3

export async function applyReplicaSet(host: LocalHost, wanted: WantedReplicaSet): Promise<ObservedReplicaSet> {
  const { replica_set_id, service, endpoint } = wanted
  const own = placeOf(host.directory, replica_set_id, service.endpoint.port, host.as_root)
  const place = listeningAt(own, endpoint.port)
  if (wanted.deleted || service.deleted) return await ensureGone(host, place)
  return setback('absent', 'its nodes are not made yet')
}

async function ensureGone(host: LocalHost, place: Place): Promise<ObservedReplicaSet> {
  host.watch.forget(place.service_id)
  await host.jobs.end(place.service_id)
  if (await findHold(place)) return setback('unknown', 'another server is copying its data', look_again_soon_seconds)
  await ensureKilled(host.effect, place)
  await host.effect('limits: remove')
  await host.limits.remove(place.service_id)
  await ensureDataGone(host.effect, place)
  return { state: 'absent', settled: true, happenings: [] }
}

function setback(
  state: ObservedReplicaSet['state'],
  waiting_for: string,
  look_again_seconds = look_again_after_setback_seconds,
): ObservedReplicaSet {
  return { state, settled: false, waiting_for, look_again_seconds, happenings: [] }
}
