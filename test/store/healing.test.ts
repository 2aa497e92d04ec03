// Deaths that are told while the store answers, and then does not: which of them are healed past the queue.
import { expect, test } from 'vitest'
import { setback } from '#providers/setback.ts'
import { newHealing } from '#server/healing.ts'
import { newLog } from '#server/log.ts'
import type { Db } from '#server/store/db.ts'
import { shared } from '#test/shared.ts'
import { until } from '#test/until.ts'
import { openTestDb } from './test-store.ts'

const db = shared(openTestDb)

test('a service that no row wants is not waited for, nor healed when the store is gone later', async () => {
  const { store } = db
  let queries = 0
  const query = (...words: Parameters<Db['query']>) => {
    queries += 1
    return db.query(...words)
  }
  const counting: Db = { ...db, query: query as Db['query'] } // it hands on whatever it gets
  const healed: string[] = []
  const provider = { heal: async (id: string) => void healed.push(id) }
  const healing = newHealing(counting, newLog('silent'))
  try {
    healing.heard({ kind: 'service', id: 'removed', provider })
    await until(() => queries === 2, { what: 'the queue is told, and asked once' })
    await store.stopPostgres()
    healing.heard({ kind: 'service', id: 'wanted', provider })
    // By then the store would have been asked for the first one again.
    await until(() => healed.filter((id) => id === 'wanted').length === 2)
    expect(healed).not.toContain('removed')
  } finally {
    await healing.close()
  }
})

test('of what happened while the store was away the newest is told', async () => {
  let healed = 0
  const event = () => ({ kind: 'crashed', message: `${(healed += 1)}` })
  const provider = {
    heal: async () => ({
      ...setback('not_serving', 'it dies', 0),
      events: Array.from({ length: 60 }, event),
      snapshots: [],
    }),
  }
  await db.store.stopPostgres()
  const healing = newHealing(db, newLog('silent'))
  try {
    healing.heard({ kind: 'service', id: 'dying', provider })
    await until(() => healed === 240)
    expect(healing.eventsOf('dying').map(({ message }) => Number(message))).toEqual(
      Array.from({ length: 100 }, (_, at) => 141 + at),
    )
  } finally {
    await healing.close()
  }
})
