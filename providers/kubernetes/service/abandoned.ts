// A replica that is not wanted any more before it came to be, because no node takes the Pod of the job that makes it. The operator waits
// for such a job for ever, and changes nothing of the Cluster meanwhile. Pure.
import type { WantedService } from '../../provider.ts'
import type { Pod } from '../api/kinds.ts'
import type { Change } from '../cell.ts'
import { instancesOf, type Look } from '../cluster/look.ts'
import { isUnplaced } from '../cluster/pod-trouble.ts'
import type { ServiceNames } from '../names.ts'
import { liveCounts, wantedCounts } from './counts.ts'

type Spec = {
  wanted: Pick<WantedService, 'ha'>
  look: Pick<Look, 'cluster' | 'pods' | 'claims'>
  names: Pick<ServiceNames, 'namespace'>
}

/** The volume first: the Pod of the job says that there is something left to do. */
export function abandonedChanges({ wanted, look, names: { namespace } }: Spec): Change[] {
  const { cluster, pods, claims } = look
  const { instances } = wantedCounts(wanted)
  const nodes = instancesOf(pods)
  const is_told = cluster !== undefined && liveCounts(cluster).instances === instances
  if (!is_told || nodes.length < instances) return []
  return pods.filter(isUnplacedJoin).flatMap((pod): Change[] => {
    const [instance, job] = [instanceOf(pod), pod.metadata.labels?.['batch.kubernetes.io/job-name']]
    if (instance === undefined || job === undefined || nodes.some((node) => node.metadata.name === instance)) return []
    const volumes = claims.filter((claim) => instanceOf(claim) === instance)
    return [
      ...volumes.map(({ metadata: { name } }): Change => ({
        effect: 'replica volume: remove',
        remove: { kind: 'PersistentVolumeClaim', namespace, name },
      })),
      { effect: 'replica job: remove', remove: { kind: 'Job', namespace, name: job } },
    ]
  })
}

const isUnplacedJoin = (pod: Pod) => pod.metadata.labels?.['cnpg.io/jobRole'] === 'join' && isUnplaced(pod)

const instanceOf = ({ metadata }: Pick<Pod, 'metadata'>) => metadata.labels?.['cnpg.io/instanceName']
