// What the removal of a snapshot leaves in the store: the WAL that another one needs, whatever is known of that.
import { expect, test } from 'vitest'
import type { Backup } from '../api/kinds.ts'
import { snapshot_label, taken_annotation } from '../names.ts'
import { names } from '../service/plan-fixture.ts'
import type { Store } from '../store/store.ts'
import { removeCopy } from './removal.ts'

const walOf = (number: number) => `00000001000000000000000${number}`

function backupOf(number: number, is_read: boolean): Backup {
  const annotations = is_read ? { [taken_annotation]: '2026-03-01T12:00:00Z' } : {}
  return {
    metadata: { name: `b-${number}`, labels: { [snapshot_label]: `${number}` }, annotations },
    status: { phase: 'completed', backupId: `copy-${number}`, beginWal: walOf(number) },
  }
}

test('the WAL of a complete copy that was not read yet stays', async () => {
  const removed: string[] = []
  const there = [1, 2, 3, 4].map(
    (number) => `p/${names.namespace}/${names.cluster}/wals/0000000100000000/${walOf(number)}`,
  )
  const store = {
    settings: { prefix: 'p' },
    removeSome: async (prefix: string, isChosen: (key: string) => boolean = () => true) => {
      removed.push(...there.filter((key) => key.startsWith(prefix) && isChosen(key)))
      return true
    },
    // What a removal asks of a store.
  } as unknown as Store
  const backups = [backupOf(1, true), backupOf(2, false), backupOf(4, true)]
  const [first] = backups
  if (first === undefined) throw new Error('it is there')
  await removeCopy({ store, effect: async () => undefined }, names, first, backups)
  expect(removed).toEqual(there.slice(0, 1))
})
