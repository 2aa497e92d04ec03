// A pass that waits for its project's turn to add an event has no row of the queue meanwhile: a request that has the turn nudges those.
import { expect, test } from 'vitest'
import { insertEvent } from '#server/event.ts'
import { nudge } from '#server/work.ts'
import { openStoreOf } from '#test/database.ts'
import { startInRegion } from '#test/http/region.ts'
import { shared } from '#test/shared.ts'
import { until } from '#test/until.ts'

const howdah = shared(startInRegion)
const db = shared(() => openStoreOf(howdah))
const patience = { patience_ms: 120_000 }

test('a pass that settles has no row of the queue while another transaction has the turn', async () => {
  const { service_id } = await howdah.createService()
  await howdah.call('POST', `${howdah.services}/${service_id}/replicaSets`, { name: 'readers', nodes: 1 })
  const [set] = await until(async () => {
    const at_rest = 'service_id = $1 and settled_generation = generation'
    const rows = await db.query<{ id: string }>(`select replica_set_id as id from replica_sets where ${at_rest}`, [
      service_id,
    ])
    return rows.length > 0 && rows
  })
  await db.transaction(async (tx) => {
    await insertEvent(tx, service_id, 'progress', 'this transaction has the turn')
    await db.query('update services set generation = generation + 1 where service_id = $1', [service_id])
    await nudge(db, 'service', service_id)
    // The pass over the set may wait as well.
    await until(async () => (await db.query('select from pg_locks where not granted')).length > 0)
    const free = await tx.query('select from work where key = any ($1) for update skip locked', [
      [service_id, set?.id ?? ''],
    ])
    expect(free).toHaveLength(2)
    // The store ends a transaction that does nothing for long, and the pass may be slow.
  }, patience)
})
