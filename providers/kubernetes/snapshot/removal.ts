// How copies leave the store: one snapshot with the WAL that only it needed, or all that a service has there. The object in the cell goes
// last, so that a removal that was broken off goes on.
import type { Backup } from '../api/kinds.ts'
import type { Cell, Change } from '../cell.ts'
import { type ServiceNames, taken_annotation } from '../names.ts'
import { prefixOf } from './store-objects.ts'
import type { Store } from '../store/store.ts'
import { isEnded, isWalBefore, takenOf } from './backup.ts'

/** The first change: from then on nothing begins with it, however long its removal takes. */
export function withdrawalOf({ namespace }: ServiceNames, backup: Backup): Change[] {
  if (takenOf(backup) === undefined) return []
  const merge = { kind: 'Backup' as const, namespace, name: backup.metadata.name }
  return [{ effect: 'snapshot: withdraw', merge, patch: { metadata: { annotations: { [taken_annotation]: null } } } }]
}

/** The last change; none: there is more to remove, or the copy is still being made. */
export async function removeCopy(
  { store, effect }: Pick<Cell, 'effect'> & { store: Store },
  names: ServiceNames,
  backup: Backup,
  backups: readonly Backup[],
): Promise<Change[]> {
  const { metadata, status } = backup
  if (!isEnded(backup) || metadata.deletionTimestamp !== undefined) return []
  const prefix = prefixOf(store.settings, names)
  await effect('store: remove copy')
  if (status?.backupId !== undefined && !(await store.removeSome(`${prefix}base/${status.backupId}/`))) return []
  // A copy that no pass has read yet is complete all the same.
  const others = backups.flatMap((one) => (one.metadata.name === metadata.name ? [] : (one.status?.beginWal ?? [])))
  const oldest = others.toSorted((one, other) => (one.slice(8) < other.slice(8) ? -1 : 1))[0]
  await effect('store: remove WAL')
  const is_last = oldest === undefined
  if (!is_last && !(await store.removeSome(`${prefix}wals/`, (key) => isWalBefore(key, oldest)))) return []
  const remove = { kind: 'Backup' as const, namespace: names.namespace, name: metadata.name }
  return [{ effect: 'snapshot: remove', remove }]
}

/** True: nothing of the service is left there. */
export async function removeAllCopies(
  { store, effect }: Pick<Cell, 'store' | 'effect'>,
  names: ServiceNames,
): Promise<boolean> {
  if (store === undefined) return true
  await effect('store: remove all')
  return (
    (await store.removeSome(prefixOf(store.settings, names))) &&
    (await store.list(prefixOf(store.settings, names), 1)).length === 0
  )
}
