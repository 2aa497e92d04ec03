// A copy of a service of another region, while it is made. Its job waits for ever for a parent that it does not reach, and says so in its
// log alone; a copy that breaks off is repeated by Kubernetes a few times, and then never again: so the Cluster is made anew.
import type { Pod } from '../api/kinds.ts'
import type { Cell } from '../cell.ts'
import type { Look } from '../cluster/look.ts'
import type { ServiceNames } from '../names.ts'
import { bootstrapOf, isCopied } from './cluster.ts'
import type { Recovery } from './recovery.ts'

/** Fewer than Kubernetes makes. */
const failures_max = 4
const log_lines = 5

/** Undefined: it gets on, or there is none. */
export async function copyTrouble(
  { client }: Pick<Cell, 'client'>,
  { namespace, cluster: name }: ServiceNames,
  { cluster, pods }: Look,
): Promise<Recovery | undefined> {
  const jobs = pods.filter(({ metadata }) => metadata.labels?.['cnpg.io/jobRole'] === 'pgbasebackup')
  if (jobs.length === 0 || cluster === undefined || !isCopied(bootstrapOf(cluster))) return undefined
  if (jobs.filter((pod) => isIn(pod, 'Failed')).length >= failures_max)
    return {
      changes: [{ effect: 'cluster: make again', remove: { kind: 'Cluster', namespace, name } }],
      lack: { waiting_for: 'its copy broke off several times; it is begun anew', in_progress: false },
    }
  const running = jobs.find((pod) => isIn(pod, 'Running'))
  if (running === undefined) return undefined
  const query = { container: 'pgbasebackup', tailLines: log_lines }
  const log = await client
    .text(`/api/v1/namespaces/${namespace}/pods/${running.metadata.name}/log`, query)
    .catch(() => '')
  const reason = unreachedIn(log)
  if (reason === undefined) return undefined
  const advice = 'it is tried again; see that Pods of this region reach the address of the parent’s region'
  return {
    changes: [],
    lack: { waiting_for: `its copy does not reach its parent (${reason}); ${advice}`, in_progress: false },
  }
}

const isIn = ({ status }: Pod, phase: string) => status?.phase === phase

/** Pure. Why its last attempt to log in did not succeed; undefined: none was made, or it did. */
export function unreachedIn(log: string): string | undefined {
  const last = log.trimEnd().split('\n').at(-1) ?? ''
  if (!last.includes('DB not available, will retry')) return undefined
  return /"err":"((?:[^"\\]|\\.)*)"/
    .exec(last)?.[1]
    ?.replaceAll('\\"', '"')
    .replaceAll(/(?:\\[nt])+/g, ' ')
}
