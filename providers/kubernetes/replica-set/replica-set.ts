// One pass over a replica set: a Cluster of its own that follows the one of its service, behind one address. It goes and stops before
// its service does.
import { probe } from '../../postgres/probe.ts'
import type { ObservedReplicaSet, Pass, WantedReplicaSet } from '../../provider.ts'
import type { Cluster } from '../api/kinds.ts'
import { type Cell, type Change, isAsSigned, make } from '../cell.ts'
import { abandonedChanges } from '../cluster/abandoned.ts'
import { nodePortOf } from '../cluster/access.ts'
import { givenUp, jobTrouble } from '../cluster/job-trouble.ts'
import { hasResources, inProgress, type Lack, probeLack, seenWith } from '../cluster/lack.ts'
import { instancesOf, isReady, lookAt, lookAtSet, named, type Owned } from '../cluster/look.ts'
import { leaving, makeOrRefused, noImage, passOver, unknown } from '../cluster/pass.ts'
import { podTrouble } from '../cluster/pod-trouble.ts'
import { hasHibernated } from '../cluster/power.ts'
import { majorOf } from '../cluster/version.ts'
import { clusterRemoval, isLeaving, removalOf } from '../cluster/remove.ts'
import { tlsChanges } from '../cluster/secrets.ts'
import { namesOf, type ServiceNames, setNamesOf } from '../names.ts'
import { phaseWords } from '../phase.ts'
import { poolerChanges, type PoolerChanges, poolerLack } from '../pooler/pooler.ts'
import { setClusterOf } from './cluster.ts'

export function applyReplicaSet(cell: Cell, wanted: WantedReplicaSet, pass?: Pass): Promise<ObservedReplicaSet> {
  const is_deleted = wanted.deleted || wanted.service.deleted
  return passOver(cell, () => (is_deleted ? remove(cell, wanted, pass) : apply(cell, wanted, pass)), unknown, pass)
}

/** Changes nothing: see `observeService`. */
export function observeReplicaSet(cell: Cell, wanted: WantedReplicaSet): Promise<ObservedReplicaSet> {
  const { names, look } = partsOf(cell, wanted)
  return passOver(cell, () => observe(cell, wanted, names, look()), unknown, undefined)
}

function partsOf(cell: Cell, { replica_set_id, service }: WantedReplicaSet) {
  const { installation_id } = cell
  const names = namesOf({ installation_id, project_id: service.project_id, service_id: service.service_id })
  const set = setNamesOf(names, replica_set_id)
  const look = () => lookAtSet(cell.cache, { ...set, namespace: names.namespace }, replica_set_id)
  return { names, set, look }
}

async function apply(cell: Cell, wanted: WantedReplicaSet, pass?: Pass): Promise<ObservedReplicaSet> {
  const { names, set, look } = partsOf(cell, wanted)
  const { service } = wanted
  const first = look()
  if (isLeaving(first)) return seenWith('not_serving', inProgress('what it had before is being removed'))
  const given_up = givenUp(first)
  if (given_up !== undefined) {
    await make(cell, [clusterRemoval({ ...set, namespace: names.namespace })], pass)
    return seenWith('not_serving', given_up)
  }
  const parent = lookAt(cell.cache, names, service.service_id)
  if (parent.cluster === undefined)
    return seenWith('absent', { waiting_for: 'its service is not there', in_progress: true })
  const has_primary = instancesOf(parent.pods).some(isReady)
  if (first.cluster === undefined && !has_primary)
    return seenWith('absent', { waiting_for: 'its service does not run', in_progress: true })
  const major = majorOf(parent.cluster)
  if (major === undefined) return unknown(noImage(cell))
  const refused = await makeOrRefused(cell, await changesOf(cell, wanted, major, first), pass)
  const seen = await observe(cell, wanted, names, look())
  return refused === undefined ? seen : seenWith(seen.state, refused)
}

async function changesOf(cell: Cell, wanted: WantedReplicaSet, major: number, look: Owned): Promise<Change[]> {
  const { names, set } = partsOf(cell, wanted)
  const { namespace } = names
  const { cluster, labels } = set
  const tls = await tlsChanges(cell, { namespace, name: set.tls, labels, cluster }, look.secrets, new Date())
  const selector = { 'cnpg.io/cluster': cluster, 'cnpg.io/podRole': 'instance' }
  const access = nodePortOf({ namespace, name: set.public, labels, selector, at: wanted.home })
  const manifest = setClusterOf({ names, set, settings: cell.settings, major, wanted, there: look.cluster })
  const { before, after } = await poolerOf(cell, wanted, look)
  return [
    ...tls,
    ...(isAsSigned(named(look.services, set.public), access) ? [] : [{ effect: 'set service: apply', apply: access }]),
    ...before,
    ...(isAsSigned(look.cluster, manifest) ? [] : [{ effect: 'set cluster: apply', apply: manifest }]),
    ...abandonedChanges({ instances: wanted.nodes, look, namespace }),
    ...after,
  ]
}

async function poolerOf(cell: Cell, wanted: WantedReplicaSet, look: Owned): Promise<PoolerChanges> {
  const { names, set } = partsOf(cell, wanted)
  const { namespace, pooler: role_secret } = names
  const { pooler: name, labels, tls, cluster } = set
  const { pooler: at, size, service } = wanted
  const { power } = service
  const spec = { namespace, name, labels, tls, role_secret, target: `${cluster}-r`, size, at, power }
  return await poolerChanges(cell, spec, look)
}

async function observe(
  cell: Cell,
  wanted: WantedReplicaSet,
  names: ServiceNames,
  look: Owned,
): Promise<ObservedReplicaSet> {
  const { cluster, pods } = look
  const { service, home: endpoint, pooler: at } = wanted
  const { password_verifier } = service
  if (cluster === undefined) return seenWith('absent', inProgress(`it is being made in ${names.namespace}`))
  if (hasHibernated(cluster, pods))
    return seenWith('stopped', service.power === 'off' ? undefined : inProgress('its nodes are starting'))
  const authority_pem = cell.authority.certificate_pem
  const has_node = instancesOf(pods).some(isReady)
  const probed = has_node ? await probe({ endpoint, authority_pem, password_verifier }) : undefined
  const state = probed === undefined || probed.result === 'failed' ? 'not_serving' : 'serving'
  if (service.power === 'off') return seenWith(state, inProgress('its nodes are stopping'))
  const lack = (await jobTrouble(cell, look)) ?? lackOf(cell, wanted, cluster, look) ?? probeLack(probed)
  if (lack !== undefined || at === undefined) return seenWith(state, lack)
  return seenWith(state, await poolerLack(cell, look, { at, password_verifier }))
}

function lackOf(
  { settings }: Pick<Cell, 'settings'>,
  { nodes, size }: WantedReplicaSet,
  { status }: Cluster,
  { pods }: Owned,
): Lack | undefined {
  const there = instancesOf(pods)
  const words = podTrouble(pods) ?? phaseWords(status?.phase, status?.phaseReason)
  if (words !== undefined) return words
  if (there.length > nodes) return inProgress('a node is being removed')
  if (there.filter(isReady).length < nodes) return inProgress('its nodes are starting')
  return there.every((pod) => hasResources(pod, size, settings))
    ? undefined
    : inProgress('its nodes are started with their new size')
}

async function remove(cell: Cell, wanted: WantedReplicaSet, pass?: Pass): Promise<ObservedReplicaSet> {
  const { names, look } = partsOf(cell, wanted)
  const removal = removalOf(look(), names.namespace)
  await make(cell, removal?.changes ?? [], pass)
  if (removal === undefined) return { state: 'absent', settled: true, events: [] }
  return leaving(removal.waiting_for)
}
