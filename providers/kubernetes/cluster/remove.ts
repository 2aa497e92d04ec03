// What is to be removed next of what a service or a replica set owns, in order. Pure. First what clients and other Pods hold, then the
// Cluster with its Pods and volumes, then what it was made from.
import type { KindName, Thing } from '../api/kinds.ts'
import type { Change } from '../cell.ts'
import { digest_annotation } from '../names.ts'
import type { Owned } from './look.ts'

type Removal = { changes: Change[]; waiting_for: string }

/** Undefined: nothing is left. */
export function removalOf(look: Owned, namespace: string): Removal | undefined {
  const { deployment, cluster, pods, services, claims, secrets } = look
  const removals = (kind: KindName, what: string, things: readonly Thing[]): Change[] =>
    things
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined)
      .map(({ metadata }) => ({ effect: `${what}: remove`, remove: { kind, namespace, name: metadata.name } }))
  if (deployment !== undefined)
    return { changes: removals('Deployment', 'pooler', [deployment]), waiting_for: 'its pooler is being removed' }
  if (cluster !== undefined || pods.length > 0) {
    const changes = [
      ...removals('Service', 'service', services.filter(isOurs)),
      ...removals('Cluster', 'cluster', cluster ? [cluster] : []),
    ]
    return { changes, waiting_for: 'its nodes are being removed' }
  }
  if (claims.length > 0)
    return {
      changes: removals('PersistentVolumeClaim', 'volume', claims),
      waiting_for: 'its volumes are being removed',
    }
  if (services.length + secrets.length === 0) return undefined
  const changes = [...removals('Service', 'service', services), ...removals('Secret', 'secret', secrets)]
  return { changes, waiting_for: 'the rest of it is being removed' }
}

/** A Cluster that is to be made again, with a new one after it. */
export const clusterRemoval = ({ namespace, cluster: name }: { namespace: string; cluster: string }): Change => ({
  effect: 'cluster: make again',
  remove: { kind: 'Cluster', namespace, name },
})

/** A Cluster that is made again waits for the end of the one before, which has its name. */
export const isLeaving = ({ cluster, pods, claims }: Owned): boolean =>
  cluster === undefined ? pods.length + claims.length > 0 : cluster.metadata.deletionTimestamp !== undefined

/** The operator's own go with their Cluster. */
const isOurs = ({ metadata }: Thing) => metadata.annotations?.[digest_annotation] !== undefined
