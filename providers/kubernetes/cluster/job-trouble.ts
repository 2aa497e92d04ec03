// Why a job of the operator failed, such as the first start of a database, in the job's own words: the operator itself only tries again.
import type { Pod } from '../api/kinds.ts'
import type { Cell } from '../cell.ts'
import { healthy } from '../phase.ts'
import type { Lack } from './lack.ts'
import { instancesOf, type Owned } from './look.ts'

/** What each job does, by the operator's label. */
const jobs: Readonly<Record<string, string>> = {
  initdb: 'the making of its database',
  pgbasebackup: 'its copy',
  'full-recovery': 'its recovery',
  join: 'the making of a replica',
}
/** Those that make its first node. */
const first_jobs = ['initdb', 'pgbasebackup', 'full-recovery']
const log_lines = 50
/** Fewer than Kubernetes makes. */
const failures_max = 4

/** Undefined: none has failed, or one after it has come to its end. */
export async function jobTrouble(
  { client }: Pick<Cell, 'client'>,
  { cluster, pods }: Pick<Owned, 'cluster' | 'pods'>,
): Promise<Lack | undefined> {
  const failed = pods.find((pod) => pod.status?.phase === 'Failed' && jobs[roleOf(pod)] !== undefined)
  if (failed === undefined || cluster?.status?.phase === healthy) return undefined
  const { namespace, name } = failed.metadata
  const query = { container: roleOf(failed), tailLines: log_lines }
  const log = await client.text(`/api/v1/namespaces/${namespace}/pods/${name}/log`, query).catch(() => '')
  const waiting_for = `${jobs[roleOf(failed)]} failed (${reasonIn(log) ?? 'it left no reason'}); it is tried again`
  return { waiting_for, in_progress: false }
}

/**
 * Pure. A job that fails is repeated a few times, and then never again, while the operator goes on to wait for it: what has no node yet
 * is made anew. Undefined: its job may still succeed, or has.
 */
export function givenUp({ pods }: Pick<Owned, 'pods'>): Lack | undefined {
  if (instancesOf(pods).length > 0) return undefined
  const job = first_jobs.find((role) => hasFailedOften(jobPods(pods, role)))
  return job === undefined
    ? undefined
    : { waiting_for: `${jobs[job]} failed several times; it is begun anew`, in_progress: false }
}

export const jobPods = (pods: readonly Pod[], role: string) => pods.filter((pod) => roleOf(pod) === role)

/** Pure. Of one job: its attempts, none of which runs now. */
export const hasFailedOften = (attempts: readonly Pod[]): boolean =>
  attempts.filter(({ status }) => status?.phase === 'Failed').length >= failures_max &&
  attempts.every(({ status }) => status?.phase === 'Failed')

const roleOf = ({ metadata }: Pod) => metadata.labels?.['cnpg.io/jobRole'] ?? ''

/** Pure. The last error that is told in the log. */
function reasonIn(log: string): string | undefined {
  const reasons = log.split('\n').flatMap((line) => {
    const { level, error, err, msg } = entryOf(line)
    return level === 'error' ? ([error, err, msg].find((one) => typeof one === 'string') ?? []) : []
  })
  return reasons.at(-1)?.replaceAll(/\s+/g, ' ').slice(0, reason_chars_max)
}

const reason_chars_max = 500

/** Of a line of the operator's programs; another one has no members. */
function entryOf(line: string): Readonly<Record<string, unknown>> {
  try {
    const entry: unknown = JSON.parse(line)
    return typeof entry === 'object' && entry !== null ? { ...entry } : {}
  } catch {
    return {}
  }
}
