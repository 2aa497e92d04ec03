// Where the data of a new service come from: an empty database, a copy of its parent as it is now, taken from the running primary, here or
// in another region, or what its parent has in the object store. Pure. Once the Cluster is made this is never asked again.
import { master_database, master_role } from '../../postgres/names.ts'
import type { Moment, WantedService } from '../../provider.ts'
import { elsewhere, originElsewhere, originOf } from '../cluster/access.ts'
import type { Lack } from '../cluster/lack.ts'
import { instancesOf, isPrimary, isReady, type Look, named } from '../cluster/look.ts'
import { hasHibernated } from '../cluster/power.ts'
import { majorOf } from '../cluster/version.ts'
import { recovery_annotation, type ServiceNames } from '../names.ts'
import { type Taken, takenOf } from '../snapshot/backup.ts'
import { archiveOrigin } from '../snapshot/store-objects.ts'
import { type Bootstrap, newDatabase } from './cluster.ts'

/** `lack`: the Cluster cannot be made yet. */
type Beginning = { bootstrap: Bootstrap } | { lack: Lack }

type Parent = { names: ServiceNames; look: Look }

export type BeginningSpec = {
  wanted: Pick<WantedService, 'source' | 'extensions'>
  names: ServiceNames
  look: Pick<Look, 'secrets'>
  parentOf: (service_id: string) => Parent
  has_store: boolean
}

/** The version of PostgreSQL of what it is copied from, which it must have too; undefined: it is no copy, or the Cluster of its parent is lost. */
export function sourceMajorOf(
  { source }: Pick<WantedService, 'source'>,
  parentOf: BeginningSpec['parentOf'],
): number | undefined {
  if (source === undefined) return undefined
  if (source.origin) return 'major' in source.origin ? source.origin.major : undefined
  const { cluster } = parentOf(source.service_id).look
  return cluster && majorOf(cluster)
}

export function beginningOf({ wanted, names, look, parentOf, has_store }: BeginningSpec): Beginning {
  const { source, extensions } = wanted
  if (source === undefined) return { bootstrap: newDatabase(names, extensions) }
  const parent = parentOf(source.service_id)
  const owner = { database: master_database, owner: master_role, secret: { name: names.admin } }
  const { origin } = source
  if (origin && 'closed' in origin) return { lack: { waiting_for: origin.closed, in_progress: true } }
  if (origin)
    return {
      bootstrap: {
        bootstrap: { pg_basebackup: { source: elsewhere, ...owner } },
        externalClusters: [originElsewhere(names, origin)],
      },
    }
  const runs = instancesOf(parent.look.pods).some((pod) => isReady(pod) && isPrimary(pod))
  if (source.moment === 'now' && runs)
    return {
      bootstrap: {
        bootstrap: { pg_basebackup: { source: parent.names.cluster, ...owner } },
        externalClusters: [originOf(parent.names)],
      },
    }
  if (!has_store) return { lack: source.moment === 'now' ? must_run : no_snapshots }
  const recorded = named(look.secrets, names.admin)?.metadata.annotations?.[recovery_annotation]
  const target = targetOf(source.moment, parent.look, recorded)
  if ('waiting_for' in target) return { lack: target }
  return {
    bootstrap: {
      bootstrap: {
        recovery: { source: parent.names.cluster, ...owner, ...(target.recoveryTarget && target) },
      },
      externalClusters: [archiveOrigin(parent.names)],
    },
  }
}

const must_run: Lack = { waiting_for: 'its parent must run to be copied', in_progress: true }
const no_snapshots: Lack = { waiting_for: 'this region keeps no snapshots of its parent', in_progress: false }

/** `recorded`: the last record that the archive has, where it ends before the moment. */
function targetOf(moment: Moment, parent: Look, recorded: string | undefined): { recoveryTarget?: object } | Lack {
  const taken = parent.backups.flatMap((backup) => takenOf(backup) ?? [])
  if (moment === 'now') return endOfArchive(parent, taken)
  const immediate = (one: Taken) => ({ recoveryTarget: { backupID: one.backup_id, targetImmediate: true } })
  if ('snapshot_id' in moment) {
    const one = taken.find(({ snapshot_id }) => snapshot_id === moment.snapshot_id)
    if (one !== undefined) return immediate(one)
    // What the cell knew of its snapshots may be lost with the Cluster: the store has them still.
    if (parent.cluster === undefined) return { recoveryTarget: { targetImmediate: true } }
    return { waiting_for: 'the snapshot of its parent is being taken', in_progress: true }
  }
  const before = taken.filter(({ taken_at }) => taken_at.toISOString() <= moment.at.replace(/(\.\d{3})\d*Z$/, '$1Z'))
  const base = before.toSorted((one, other) => other.taken_at.getTime() - one.taken_at.getTime())[0]
  if (base === undefined && parent.cluster !== undefined)
    return { waiting_for: 'its parent has no snapshot before that moment', in_progress: false }
  if (base !== undefined && Date.parse(moment.at) === base.taken_at.getTime()) return immediate(base)
  const from = base === undefined ? {} : { backupID: base.backup_id }
  return {
    recoveryTarget: { ...from, ...(recorded === undefined ? { targetTime: moment.at } : { targetLSN: recorded }) },
  }
}

/** A stop that ended well has archived all that was committed; the operator notes when the archive failed. */
function endOfArchive({ cluster, pods }: Look, taken: readonly Taken[]): { recoveryTarget?: object } | Lack {
  if (cluster === undefined || !hasHibernated(cluster, pods)) return must_run
  const { conditions = [] } = cluster.status ?? {}
  const is_archived = conditions.some(({ type, status }) => type === 'ContinuousArchiving' && status === 'True')
  if (taken.length > 0 && is_archived) return {}
  const why = is_archived ? 'has no snapshot' : 'could not archive all of its WAL'
  return {
    waiting_for: `its parent is paused and ${why}; start it, and the copy is made from there`,
    in_progress: false,
  }
}
