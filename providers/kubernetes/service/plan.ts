// What is to be changed in the cell now, so that a service comes nearer to what is wanted. Pure. The order is fixed: what an object needs
// is there before it. A change that must wait for the effect of another is left for a later pass, so a crash between two is
// repaired by the next pass.
import { isDeepStrictEqual } from 'node:util'
import type { WantedService } from '../../provider.ts'
import type { Manifest, Thing } from '../api/kinds.ts'
import { type CellSettings, type Change, isAsSigned } from '../cell.ts'
import { hibernation_annotation, memberOf, type ServiceNames } from '../names.ts'
import { abandonedChanges } from '../cluster/abandoned.ts'
import { nodePortOf, primaryOf } from '../cluster/access.ts'
import { networkPolicyOf } from '../cluster/network.ts'
import { type Bootstrap, clusterOf } from './cluster.ts'
import { nextCounts, wantedCounts } from './counts.ts'
import { hasHibernated, isPoolerStopped } from '../cluster/power.ts'
import { type Look, named } from '../cluster/look.ts'
import { adminSecretOf, copySecretOf } from '../cluster/secrets.ts'
import type { Replication } from './replication.ts'
import { promotionOf, switchoverOf } from './switchover.ts'

type PlanSpec = {
  wanted: WantedService
  look: Look
  names: ServiceNames
  settings: CellSettings
  major: number
  /** Of an existing Cluster as it is. */
  bootstrap: Bootstrap
  /** Changes of the certificate, which need chance and are made elsewhere. */
  tls: readonly Change[]
  /** What the namespace lacks to reach the object store. */
  store: readonly Change[]
  pooler: { before: readonly Change[]; after: readonly Change[] }
  /** Read where nodes are to go; undefined: no primary was asked. */
  replication?: Replication | undefined
  now: Date
}

export function planOf(spec: PlanSpec): Change[] {
  const { wanted, look, names, settings, tls, pooler } = spec
  const policies = look.network_policy ? [look.network_policy] : []
  return [
    ...namespaceChanges(spec),
    ...changeUnlessThere('network policy', policies, networkPolicyOf(names, settings)),
    ...changeUnlessThere('admin secret', look.secrets, adminSecretOf(names, wanted)),
    ...copySecretChanges(spec),
    ...tls,
    ...spec.store,
    ...changeUnlessThere('public service', look.services, publicServiceOf(spec)),
    ...pooler.before,
    ...clusterChanges(spec),
    ...abandonedChanges({ ...wantedCounts(wanted), look, namespace: names.namespace }),
    ...pooler.after,
  ]
}

/** The namespace of the project says which services are in it, so that it goes with the last of them and not before. */
function namespaceChanges({ wanted, look, names }: PlanSpec): Change[] {
  const name = names.namespace
  const member = memberOf(wanted.service_id)
  if (look.namespace?.metadata.annotations?.[member] !== undefined) return []
  const manifest: Manifest = { apiVersion: 'v1', kind: 'Namespace', metadata: { name, labels: names.namespace_labels } }
  return [
    ...(look.namespace === undefined ? [{ effect: 'namespace: apply', apply: manifest }] : []),
    {
      effect: 'namespace: join',
      merge: { kind: 'Namespace', name },
      patch: { metadata: { annotations: { [member]: '' } } },
    },
  ]
}

/** It goes when all that it served for is done. */
function copySecretChanges({ wanted, look, names }: PlanSpec): Change[] {
  const { namespace, copy: name } = names
  if (wanted.made && named(look.secrets, name))
    return [{ effect: 'copy secret: remove', remove: { kind: 'Secret', namespace, name } }]
  const origin = wanted.source?.origin
  if (look.cluster !== undefined || origin === undefined || 'closed' in origin) return []
  return changeUnlessThere('copy secret', look.secrets, copySecretOf(names, origin))
}

function publicServiceOf({ wanted, names }: PlanSpec): Manifest {
  const { namespace, cluster, labels } = names
  return nodePortOf({ namespace, name: names.public, labels, selector: primaryOf(cluster), at: wanted.home })
}

function clusterChanges(spec: PlanSpec): Change[] {
  const { wanted, look, names, settings, now } = spec
  const { cluster } = look
  const switchover = switchoverOf(wanted, cluster, look.pods)
  const manifest = clusterOf({
    names,
    settings,
    wanted,
    major: spec.major,
    ...nextCounts(wanted, cluster, spec.replication?.synchronous),
    hibernated: isHibernatedNext(spec),
    there: cluster,
    switchover: switchover.annotations,
    bootstrap: spec.bootstrap,
  })
  const changes: Change[] =
    cluster && isAsApplied(cluster, manifest) ? [] : [{ effect: 'cluster: apply', apply: manifest }]
  if (switchover.target === undefined) return changes
  const merge = { kind: 'Cluster' as const, namespace: names.namespace, name: names.cluster }
  const patch = promotionOf(switchover.target, now)
  return [...changes, { effect: 'cluster: switch over', merge, patch, subresource: '/status' }]
}

/**
 * First its pooler and its replica sets stop: they hold connections to it. A service that was never there is made first, and a stop that
 * has begun goes on.
 */
function isHibernatedNext({ wanted, look }: PlanSpec): boolean {
  if (wanted.power === 'on' || look.cluster === undefined) return false
  if (look.cluster.metadata.annotations?.[hibernation_annotation] === 'on') return true
  const sets_stopped = look.sets.every(({ cluster, pods }) => hasHibernated(cluster, pods))
  return isPoolerStopped(look.deployment) && sets_stopped
}

function changeUnlessThere(what: string, things: readonly Thing[], manifest: Manifest): Change[] {
  if (isAsSigned(named(things, manifest.metadata.name), manifest)) return []
  return [{ effect: `${what}: apply`, apply: manifest }]
}

/** Whether the object was made from this manifest and still has every member of it. What the manifest does not name is not compared. */
function isAsApplied(there: Thing, manifest: Manifest): boolean {
  const { annotations } = manifest.metadata
  return covers(there.metadata.annotations, annotations) && covers('spec' in there ? there.spec : {}, manifest['spec'])
}

function covers(there: unknown, wanted: unknown): boolean {
  if (Array.isArray(wanted)) {
    if (!Array.isArray(there) || there.length !== wanted.length) return false
    return wanted.every((one, at) => covers(there[at], one))
  }
  if (typeof wanted !== 'object' || wanted === null) return isDeepStrictEqual(there, wanted)
  if (typeof there !== 'object' || there === null) return false
  // Objects by the checks above.
  const [has, needs] = [there as Record<string, unknown>, wanted as Record<string, unknown>]
  return Object.entries(needs).every(([name, value]) => value === undefined || covers(has[name], value))
}
