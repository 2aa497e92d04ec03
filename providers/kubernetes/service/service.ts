// One pass over a service: read what exists, change what differs, read again, and log in as a client would. Nothing is remembered.
import { probe, type Probe } from '../../postgres/probe.ts'
import type { ObservedService, Pass, WantedService } from '../../provider.ts'
import type { Thing } from '../api/kinds.ts'
import { type Cell, type Change, make } from '../cell.ts'
import { namesOf, type ServiceNames } from '../names.ts'
import { leaving, makeOrRefused, noImage, passOver, unknown } from '../cluster/pass.ts'
import { givenUp, jobTrouble } from '../cluster/job-trouble.ts'
import { inProgress, type Lack } from '../cluster/lack.ts'
import { poolerChanges, type PoolerChanges, poolerLack, roleSecretChanges } from '../pooler/pooler.ts'
import { type Bootstrap, bootstrapOf } from './cluster.ts'
import { copyTrouble } from './copying.ts'
import { asksPrimary } from './counts.ts'
import { majorOf } from '../cluster/version.ts'
import { instancesOf, isPrimary, isReady, type Look, lookAt } from '../cluster/look.ts'
import { observed, observedOf } from './observed.ts'
import { planOf } from './plan.ts'
import { readReplication } from './replication.ts'
import { failedRecovery, type Recovery } from './recovery.ts'
import { type BeginningSpec, beginningOf, sourceMajorOf } from './source.ts'
import { applySnapshots, readStoredMajor } from '../snapshot/snapshots.ts'
import { removeAllCopies } from '../snapshot/removal.ts'
import { storeChanges } from '../snapshot/store-objects.ts'
import { StoreTrouble } from '../store/store.ts'
import { clusterRemoval, isLeaving, removalOf } from '../cluster/remove.ts'
import { departureOf } from './departure.ts'
import { tlsChanges } from '../cluster/secrets.ts'

export function applyService(cell: Cell, wanted: WantedService, pass?: Pass): Promise<ObservedService> {
  const begin = () => (wanted.deleted ? remove(cell, wanted, pass) : apply(cell, wanted, pass))
  return passOver(cell, begin, (waiting_for) => ({ ...unknown(waiting_for), snapshots: [] }), pass)
}

/** Changes nothing. The operator heals, and another server may know a newer generation. */
export function observeService(cell: Cell, wanted: WantedService): Promise<ObservedService> {
  const begin = () => observe(cell, wanted, lookAt(cell.cache, namesFor(cell, wanted), wanted.service_id))
  return passOver(cell, begin, (waiting_for) => ({ ...unknown(waiting_for), snapshots: [] }), undefined)
}

async function apply(cell: Cell, wanted: WantedService, pass?: Pass): Promise<ObservedService> {
  const names = namesFor(cell, wanted)
  const lookNow = () => lookAt(cell.cache, names, wanted.service_id)
  const parentOf = (service_id: string) => {
    const parent = namesFor(cell, { ...wanted, service_id })
    return { names: parent, look: lookAt(cell.cache, parent, service_id) }
  }
  if (wanted.made && (await isLost(cell, names, lookNow()))) return lost(cell)
  const first = lookNow()
  const like = first.cluster ? undefined : await majorLike(cell, wanted, parentOf)
  const major = first.cluster ? majorOf(first.cluster) : cell.image(like)?.major
  if (major === undefined) return { ...unknown(noImage(cell, like)), snapshots: [] }
  if (isLeaving(first)) return observed('not_serving', inProgress('what it had before is being removed'))
  const failed = wanted.made ? undefined : await failureOf(cell, names, first)
  if (failed !== undefined) {
    await make(cell, failed.changes, pass)
    return observed('not_serving', failed.lack)
  }
  const has_store = cell.store !== undefined
  const beginning = first.cluster
    ? { bootstrap: bootstrapOf(first.cluster) }
    : beginningOf({ wanted, names, look: first, parentOf, has_store })
  if ('lack' in beginning) return observed('absent', beginning.lack)
  const refused = await makeOrRefused(
    cell,
    await changesOf(cell, wanted, names, { look: first, major, ...beginning }),
    pass,
  )
  const seen = await observe(cell, wanted, lookNow())
  const told = refused === undefined ? seen : { ...seen, ...observed(seen.state, refused) }
  return await withSnapshots(cell, wanted, names, { seen: told, lookNow, pass })
}

async function observe(cell: Cell, wanted: WantedService, look: Look): Promise<ObservedService> {
  const probed = await probeOf(cell, wanted, look)
  const replication = wanted.ha && (await readReplication(cell, look))
  const pooler = await poolerLackOf(cell, wanted, look, probed)
  const job = await jobTrouble(cell, look)
  return observedOf({ wanted, settings: cell.settings, look, probed, replication, pooler, job })
}

/** Of the making of a new service; undefined: it gets on. */
async function failureOf(cell: Cell, names: ServiceNames, look: Look): Promise<Recovery | undefined> {
  const recovery = await failedRecovery(cell, names, look)
  if (recovery !== undefined) return recovery
  const given_up = givenUp(look)
  if (given_up !== undefined) return { changes: [clusterRemoval(names)], lack: given_up }
  const lack = await copyTrouble(cell, names, look)
  return lack && { changes: [], lack }
}

/** Also of a service that lacks something else, such as a place for a replica: for days it would have no snapshot. */
async function withSnapshots(
  cell: Cell,
  wanted: WantedService,
  names: ServiceNames,
  { seen, lookNow, pass }: { seen: ObservedService; lookNow: () => Look; pass: Pass | undefined },
): Promise<ObservedService> {
  const { store } = cell
  const is_serving = seen.state === 'serving' && wanted.power === 'on'
  if (store === undefined || !(seen.settled || is_serving)) return seen
  const { look_again_seconds, ...part } = await applySnapshots({ ...cell, store }, wanted, names, {
    lookNow,
    is_serving,
    pass,
  })
  const paces = [seen.look_again_seconds, look_again_seconds].flatMap((one) => one ?? [])
  return {
    ...seen,
    ...part,
    events: [...seen.events, ...part.events],
    ...(paces.length > 0 && { look_again_seconds: Math.min(...paces) }),
  }
}

/** Deleted in the cluster itself, or about to be. Where another server has just made it, the watch may not have told yet. */
async function isLost(cell: Cell, { namespace, cluster: name }: ServiceNames, look: Look): Promise<boolean> {
  const cluster = look.cluster ?? (await cell.client.find({ kind: 'Cluster', namespace, name }))
  if (cluster === undefined || cluster.metadata.deletionTimestamp !== undefined) return true
  cell.cache.saw(cluster)
  return false
}

/** No other Cluster is made in its place: clients would find an empty database, and take it for theirs. */
function lost({ region, store }: Cell): ObservedService {
  const what = `its Cluster was deleted in region ${region} itself, past this API, and its data with it`
  const help =
    store === undefined ? 'delete the service' : 'fork its last snapshot (LAST_SNAPSHOT), then delete the service'
  return observed('absent', { waiting_for: `${what}; ${help}`, in_progress: false })
}

/** The version that a new Cluster must have; undefined: any. Of a parent whose Cluster is lost the store knows it. */
async function majorLike(
  { store }: Cell,
  wanted: WantedService,
  parentOf: BeginningSpec['parentOf'],
): Promise<number | undefined> {
  const { source } = wanted
  const known = sourceMajorOf(wanted, parentOf)
  if (known !== undefined || source === undefined || source.origin || store === undefined) return known
  return await readStoredMajor(store, parentOf(source.service_id).names)
}

const namesFor = ({ installation_id }: Cell, { project_id, service_id }: WantedService): ServiceNames =>
  namesOf({ installation_id, project_id, service_id })

async function changesOf(
  cell: Cell,
  wanted: WantedService,
  names: ServiceNames,
  { look, major, bootstrap }: { look: Look; major: number; bootstrap: Bootstrap },
): Promise<Change[]> {
  const now = new Date()
  const { namespace, tls: name, labels, cluster } = names
  return planOf({
    wanted,
    look,
    names,
    settings: cell.settings,
    major,
    bootstrap,
    store: await storeChangesOf(cell, names, look),
    tls: await tlsChanges(cell, { namespace, name, labels, cluster }, look.secrets, now),
    pooler: await poolerOf(cell, wanted, names, look),
    replication: asksPrimary(wanted, look.cluster) ? await readReplication(cell, look) : undefined,
    now,
  })
}

/** Where they are there already, a store in trouble keeps nothing from being done. */
async function storeChangesOf({ store }: Cell, names: ServiceNames, look: Look): Promise<Change[]> {
  if (store === undefined) return []
  return await storeChanges(store, names, look).catch((error: unknown) => {
    if (error instanceof StoreTrouble && look.object_store && look.store_secret) return []
    throw error
  })
}

/** Where none is wanted it is removed after the Cluster has let go of its role. */
async function poolerOf(cell: Cell, wanted: WantedService, names: ServiceNames, look: Look): Promise<PoolerChanges> {
  const { namespace, pooler: name, labels, tls, cluster } = names
  const { pooler: at, size, power } = wanted
  const role = cell.settings.pooler_image === undefined ? [] : roleSecretChanges(names, look.secrets)
  const spec = { namespace, name, labels, tls, role_secret: name, target: `${cluster}-rw`, size, at, power }
  const { before, after } = await poolerChanges(cell, spec, look)
  return { before: [...role, ...before], after }
}

async function poolerLackOf(cell: Cell, wanted: WantedService, look: Look, probed: Probe | undefined) {
  const { pooler: at, password_verifier } = wanted
  if (at === undefined || probed?.result !== 'ok') return undefined
  if (cell.settings.pooler_image === undefined) return no_pooler_image
  return await poolerLack(cell, look, { at, password_verifier })
}

const no_pooler_image: Lack = {
  waiting_for: 'the region has no image with PgBouncer any more; name one with pooler_image',
  in_progress: false,
}

/** Only where a node could answer: else each pass would wait for an address that no Pod has. */
async function probeOf({ authority }: Cell, wanted: WantedService, { pods }: Look): Promise<Probe | undefined> {
  if (!instancesOf(pods).some((pod) => isReady(pod) && isPrimary(pod))) return undefined
  const { certificate_pem: authority_pem } = authority
  return await probe({ endpoint: wanted.reach, authority_pem, password_verifier: wanted.password_verifier })
}

async function remove(cell: Cell, wanted: WantedService, pass?: Pass): Promise<ObservedService> {
  const names = namesFor(cell, wanted)
  const lookNow = () => lookAt(cell.cache, names, wanted.service_id)
  const { sets, ...look } = lookNow()
  if (sets.length > 0) return { ...leaving('its replica sets are removed first'), snapshots: [] }
  const removal = removalOf(look, names.namespace)
  await make(cell, removal?.changes ?? [], pass)
  if (removal !== undefined) return { ...leaving(removal.waiting_for), snapshots: [] }
  if (!(await removeAllCopies(cell, names))) return { ...leaving('its snapshots are being removed'), snapshots: [] }
  await make(
    cell,
    look.backups.map((one) => backupRemoval(names, one)),
    pass,
  )
  cell.archives.forget(wanted.service_id)
  // It leaves, and if it was the last one the namespace goes.
  for (const _step of ['leave', 'remove']) await make(cell, departureOf(lookNow(), names, wanted.service_id), pass)
  const snapshots = wanted.snapshots.map(({ snapshot_id }) => ({ snapshot_id, state: 'absent' as const }))
  return { state: 'absent', settled: true, snapshots, events: [] }
}

const backupRemoval = ({ namespace }: ServiceNames, { metadata: { name } }: Thing): Change => ({
  effect: 'snapshot: remove',
  remove: { kind: 'Backup', namespace, name },
})
