// A connection to the metadata store that breaks the moment it is made, before any query: a caller that was
// about to use it is told, and the server goes on. A proxy before a real store adds PostgreSQL's own last words to its
// first answer, in one piece, as they come when the store is killed at that moment.
import { createServer, connect } from 'node:net'
import { join } from 'node:path'
import { once } from 'node:events'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openDb, storeIsUnreachable } from '#server/store/db.ts'
import { startTestStore, type TestStore } from './test-store.ts'

let store: TestStore

beforeAll(async () => {
  store = await startTestStore()
})

afterAll(() => store.stop())

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

const ready_for_query = Buffer.from([0x5a, 0, 0, 0, 5, 0x49])
const last_words = newFatal('57P01', 'terminating connection due to unexpected postmaster exit')

function newFatal(code: string, message: string): Buffer {
  const body = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`)
  const head = Buffer.alloc(5)
  head.write('E')
  head.writeInt32BE(4 + body.length, 1)
  return Buffer.concat([head, body])
}
