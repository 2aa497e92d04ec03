// Where the data of a new service come from: an empty database, or a copy of its parent as it is now, taken from the running primary.
// Pure. Once the Cluster is made this is never asked again.
import { master_database, master_role } from '../../postgres/names.ts'
import type { WantedService } from '../../provider.ts'
import { originOf } from '../cluster/access.ts'
import type { Lack } from '../cluster/lack.ts'
import { instancesOf, isPrimary, isReady, type Look } from '../cluster/look.ts'
import type { ServiceNames } from '../names.ts'
import { type Bootstrap, newDatabase } from './cluster.ts'

/** `lack`: the Cluster cannot be made yet. */
export type Beginning = { bootstrap: Bootstrap } | { lack: Lack }

type Parent = { names: ServiceNames; look: Look }

export function beginningOf(
  { source, extensions }: WantedService,
  names: ServiceNames,
  parentOf: (service_id: string) => Parent,
): Beginning {
  if (source === undefined) return { bootstrap: newDatabase(names, extensions) }
  if (source.moment !== 'now')
    return { lack: { waiting_for: 'this region keeps no snapshots of its parent', in_progress: false } }
  const parent = parentOf(source.service_id)
  if (!instancesOf(parent.look.pods).some((pod) => isReady(pod) && isPrimary(pod)))
    return { lack: { waiting_for: 'its parent must run to be copied', in_progress: true } }
  const owner = { database: master_database, owner: master_role, secret: { name: names.admin } }
  return {
    bootstrap: {
      bootstrap: { pg_basebackup: { source: parent.names.cluster, ...owner } },
      externalClusters: [originOf(parent.names)],
    },
  }
}
