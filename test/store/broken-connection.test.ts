// Connections to the metadata store that break or fall silent: a caller is told in time, and the server goes on with another connection.
// One breaks the moment it is made, before any query: a proxy before a real store adds PostgreSQL's own last words to its first answer, in
// one piece, as they come when the store is killed at that moment.
import { shared } from '#test/shared.ts'
import { createServer, connect } from 'node:net'
import { join } from 'node:path'
import { once } from 'node:events'
import { expect, test } from 'vitest'
import { openDb, type Sql, storeIsUnreachable } from '#server/store/db.ts'
import { startTestStore } from './test-store.ts'

const store = shared(startTestStore)

test('a connection that breaks as it is made fails its transaction and nothing else', async () => {
  const proxy = createServer((client) => {
    const server = connect(join(store.place.directory, 'run', '.s.PGSQL.5432'))
    for (const one of [client, server]) one.on('error', () => undefined)
    client.pipe(server)
    let answer = Buffer.alloc(0)
    server.on('data', (bytes) => {
      answer = Buffer.concat([answer, bytes])
      if (answer.subarray(-6).equals(ready_for_query)) client.end(Buffer.concat([answer, last_words]))
    })
    client.on('close', () => server.destroy())
  })
  await once(proxy.listen(0, '127.0.0.1'), 'listening')
  const address = proxy.address()
  const port = typeof address === 'object' ? address?.port : undefined
  const db = openDb(`postgres://postgres@127.0.0.1:${port}/postgres`)
  const failure = await db.transaction((tx) => tx.query('select 1')).catch((error: unknown) => error)
  expect(storeIsUnreachable(failure)).toBe(true)
  await db.close()
  proxy.close()
})

/** Those of a server, shorter. */
const bounds = { statement_ms: 500, answer_ms: 500, idle_ms: 60_000 }

const pidOf = async (sql: Sql) => (await sql.query<{ pid: number }>('select pg_backend_pid() as pid'))[0]?.pid ?? 0

test('a connection that no longer answers fails what uses it, and nothing uses it again', async () => {
  const db = openDb(store.url, bounds)
  const [query, transaction] = [(sql: Sql) => sql.query('select 1'), (sql: Sql) => sql.query('select 2')]
  const uses = [() => query(db), () => db.transaction(transaction)]
  for (const use of uses) {
    const silent = await pidOf(db)
    process.kill(silent, 'SIGSTOP')
    const failure = await use().catch((error: unknown) => error)
    expect(storeIsUnreachable(failure)).toBe(true)
    process.kill(silent, 'SIGCONT')
    expect(await pidOf(db)).not.toBe(silent)
  }
  await db.close()
})

test('a transaction that asks for patience may take longer than others', async () => {
  const db = openDb(store.url, { ...bounds, statement_ms: 100, answer_ms: 200 })
  const slow = (sql: Sql) => sql.query<{ done: boolean }>('select pg_sleep(0.5) is not null as done')
  expect(storeIsUnreachable(await slow(db).catch((error: unknown) => error))).toBe(true)
  expect(await db.transaction(slow, { patience_ms: 60_000 })).toEqual([{ done: true }])
  expect(storeIsUnreachable(await db.transaction(slow).catch((error: unknown) => error))).toBe(true)
  await db.close()
})

test('a server that is paused in a transaction keeps its locks for a while only', async () => {
  const [paused, other] = [openDb(store.url, { ...bounds, idle_ms: 200 }), openDb(store.url)]
  const lock = (sql: Sql) => sql.query('select pg_advisory_xact_lock(1)')
  const [locked, goes_on] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const ended = paused.transaction(async (tx) => {
    await lock(tx)
    locked.resolve()
    await goes_on.promise
    await lock(tx)
  })
  const failed = ended.catch((error: unknown) => error)
  await locked.promise
  await other.transaction(lock)
  goes_on.resolve()
  expect(storeIsUnreachable(await failed)).toBe(true)
  await Promise.all([paused.close(), other.close()])
})

const ready_for_query = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])
const last_words = newFatal('57P01', 'terminating connection due to unexpected postmaster exit')

function newFatal(code: string, message: string): Buffer {
  const body = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`)
  const head = Buffer.alloc(5)
  head.write('E')
  head.writeInt32BE(4 + body.length, 1)
  return Buffer.concat([head, body])
}
