// A recovery to a moment after which its parent has committed nothing. PostgreSQL takes the end of the archive for a failure then, and the
// operator tries for ever. But all that was committed before the moment is in the archive, or it would not have been offered: so the
// service is made again, up to the last record that there was. The log of the job that failed names it.
import type { Cluster, Pod } from '../api/kinds.ts'
import type { Cell, Change } from '../cell.ts'
import type { Lack } from '../cluster/lack.ts'
import type { Look } from '../cluster/look.ts'
import { clusterRemoval } from '../cluster/remove.ts'
import { recovery_annotation, type ServiceNames } from '../names.ts'

export type Recovery = { changes: Change[]; lack: Lack }

const log_lines = 300

/** Undefined: its recovery has not failed, or there is none. */
export async function failedRecovery(
  { client }: Pick<Cell, 'client'>,
  names: ServiceNames,
  { cluster, pods }: Look,
): Promise<Recovery | undefined> {
  const failed = pods.find(isFailedRecovery)
  if (failed === undefined || cluster === undefined || recoveryOf(cluster) === undefined) return undefined
  const { namespace, name } = failed.metadata
  const query = { container: 'full-recovery', tailLines: log_lines }
  const log = await client.text(`/api/v1/namespaces/${namespace}/pods/${name}/log`, query).catch(() => '')
  return outcomeOf(log, cluster, names)
}

/** Pure. */
function outcomeOf(log: string, cluster: Cluster, names: ServiceNames): Recovery | undefined {
  if (log.includes('requested recovery stop point is before consistent recovery point'))
    return ended('the moment lies before the end of the snapshot that it begins with; choose a later one')
  if (!log.includes('recovery ended before configured recovery target was reached')) return undefined
  const [, last] = [...log.matchAll(/redo done at ([0-9A-F]+\/[0-9A-F]+)/g)].at(-1) ?? []
  if (last === undefined || recoveryOf(cluster)?.targetTime === undefined)
    return ended('the archive of its parent ends before the moment')
  const { namespace } = names
  const annotations = { [recovery_annotation]: last }
  return {
    changes: [
      {
        effect: 'admin secret: note end',
        merge: { kind: 'Secret', namespace, name: names.admin },
        patch: { metadata: { annotations } },
      },
      clusterRemoval(names),
    ],
    lack: { waiting_for: 'its parent committed nothing after the moment; it recovers all there is', in_progress: true },
  }
}

const ended = (waiting_for: string): Recovery => ({
  changes: [],
  lack: { waiting_for, in_progress: false, failed: true },
})

const isFailedRecovery = ({ metadata, status }: Pod) =>
  metadata.labels?.['cnpg.io/jobRole'] === 'full-recovery' && status?.phase === 'Failed'

function recoveryOf({ spec }: Cluster): { targetTime?: string } | undefined {
  // The form in which beginningOf writes it.
  const { bootstrap } = spec as { bootstrap?: { recovery?: { recoveryTarget?: { targetTime?: string } } } }
  return bootstrap?.recovery && (bootstrap.recovery.recoveryTarget ?? {})
}
