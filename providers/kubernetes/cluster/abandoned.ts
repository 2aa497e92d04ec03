// A replica of which the making was given up: it is not wanted any more before it came to be, because no node takes the Pod of the job
// that makes it, or the job failed so often that Kubernetes tries no more. The operator waits for such a job for ever, and changes nothing
// of the Cluster meanwhile; without it the operator begins with a new one, where that is wanted. Pure.
import type { Pod } from '../api/kinds.ts'
import type { Change } from '../cell.ts'
import { hasFailedOften, jobPods } from './job-trouble.ts'
import { instancesOf, type Owned } from './look.ts'
import { isUnplaced } from './pod-trouble.ts'

type Spec = {
  /** As many nodes are wanted. */
  instances: number
  look: Pick<Owned, 'cluster' | 'pods' | 'claims'>
  namespace: string
}

/** The volume first: the Pod of the job says that there is something left to do. */
export function abandonedChanges({ instances, look, namespace }: Spec): Change[] {
  const { cluster, pods, claims } = look
  const nodes = instancesOf(pods)
  const is_told = cluster?.spec.instances === instances
  const is_enough = is_told && nodes.length >= instances
  const attempts = Map.groupBy(jobPods(pods, 'join'), (pod) => pod.metadata.labels?.['batch.kubernetes.io/job-name'])
  return [...attempts].flatMap(([job, of_job]): Change[] => {
    const instance = of_job.map(instanceOf)[0]
    const is_given_up = (is_enough && of_job.some(isUnplaced)) || hasFailedOften(of_job)
    if (!is_given_up || instance === undefined || job === undefined) return []
    if (nodes.some((node) => node.metadata.name === instance)) return []
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

const instanceOf = ({ metadata }: Pick<Pod, 'metadata'>) => metadata.labels?.['cnpg.io/instanceName']
