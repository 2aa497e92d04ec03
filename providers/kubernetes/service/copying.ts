// A copy of a service of another region, while it is made. Its job waits for ever for a parent that it does not reach, and says so in its
// log alone.
import type { Cell } from '../cell.ts'
import { jobPods } from '../cluster/job-trouble.ts'
import type { Lack } from '../cluster/lack.ts'
import type { Look } from '../cluster/look.ts'
import type { ServiceNames } from '../names.ts'
import { bootstrapOf, isCopied } from './cluster.ts'

const log_lines = 5

/** Undefined: it gets on, or there is none. */
export async function copyTrouble(
  { client }: Pick<Cell, 'client'>,
  { namespace }: ServiceNames,
  { cluster, pods }: Look,
): Promise<Lack | undefined> {
  if (cluster === undefined || !isCopied(bootstrapOf(cluster))) return undefined
  const running = jobPods(pods, 'pgbasebackup').find(({ status }) => status?.phase === 'Running')
  if (running === undefined) return undefined
  const query = { container: 'pgbasebackup', tailLines: log_lines }
  const log = await client
    .text(`/api/v1/namespaces/${namespace}/pods/${running.metadata.name}/log`, query)
    .catch(() => '')
  const reason = unreachedIn(log)
  if (reason === undefined) return undefined
  const advice = 'it is tried again; see that Pods of this region reach the address of the parent’s region'
  return { waiting_for: `its copy does not reach its parent (${reason}); ${advice}`, in_progress: false }
}

/** Pure. Why its last attempt to log in did not succeed; undefined: none was made, or it did. */
export function unreachedIn(log: string): string | undefined {
  const last = log.trimEnd().split('\n').at(-1) ?? ''
  if (!last.includes('DB not available, will retry')) return undefined
  return /"err":"((?:[^"\\]|\\.)*)"/
    .exec(last)?.[1]
    ?.replaceAll('\\"', '"')
    .replaceAll(/(?:\\[nt])+/g, ' ')
}
