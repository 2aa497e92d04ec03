// A tenant whose program listens in the place of its server answers without end, to what it was asked and to what it was not; and one that
// is asked by SQL alone answers as much as it can. The server stays as small, and as free, as it was.
import type { Socket } from 'node:net'
import { expect, test } from 'vitest'
import { findConnection } from '#providers/local/host/liveness.ts'
import { nodeOf, type Node } from '#providers/local/host/layout.ts'
import { endless_answer, newSession, withSuperuser } from '#providers/local/postgres/superuser.ts'
import { listenInPlaceOf } from '#test/provider/impostor.ts'
import { as_root, newWanted, settle, useWorlds } from '#test/provider/service-fixture.ts'
import { until } from '#test/until.ts'

const { newWorld } = useWorlds()

const messageOf = (type: string, ...bytes: number[]) =>
  Buffer.from([type.charCodeAt(0), 0, 0, 0, bytes.length + 4, ...bytes])
/** No password is asked for, and the session is ready. */
const welcome = Buffer.concat([messageOf('R', 0, 0, 0, 0), messageOf('Z', 'I'.charCodeAt(0))])
const columns = messageOf('T', 0, 0)
/** Seven bytes each, of which the driver makes objects. */
const rows = Buffer.concat(Array.from({ length: 10_000 }, () => messageOf('D', 0, 0)))

async function newImpostor(serve: (socket: Socket) => void): Promise<Node> {
  const world = await newWorld()
  const provider = await world.open()
  const wanted = await newWanted(provider, { size: 'shared' })
  await settle(provider, wanted)
  await settle(provider, { ...wanted, generation: 2, power: 'off' })
  const node = nodeOf(world.directory, wanted.service_id, wanted.home.port, as_root)
  await listenInPlaceOf(node, serve)
  return node
}

function flood(socket: Socket): void {
  while (!socket.destroyed && socket.write(rows));
  if (!socket.destroyed) socket.once('drain', () => flood(socket))
}

test('a statement that is answered without end fails after some megabytes', async () => {
  let said = 0
  const node = await newImpostor((socket) => {
    socket.once('data', () => {
      socket.write(welcome)
      socket.once('data', () => socket.write(columns) && flood(socket))
    })
    socket.once('close', () => (said += socket.bytesWritten))
  })
  await expect(withSuperuser(node, {}, (client) => client.query('select 1'))).rejects.toThrow(endless_answer)
  await until(() => said > 0)
  expect(said).toBeLessThan(8 * 1024 ** 2)
})

test('a session that asks again and again is not ended for all of its answers together', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const wanted = await newWanted(provider, { size: 'shared' })
  await settle(provider, wanted)
  const client = newSession(nodeOf(world.directory, wanted.service_id, wanted.home.port, as_root), {})
  await client.connect()
  for (let asked = 0; asked < 6; asked += 1) {
    expect((await client.query(`select pg_catalog.repeat('x', 2000000)`)).rowCount).toBe(1)
  }
  await client.end()
})

test('a connection that waits for a server’s death listens to no more than its one word', async () => {
  const sockets = new Set<Socket>()
  const node = await newImpostor((socket) => {
    sockets.add(socket)
    socket.once('data', () => socket.write('S', () => setImmediate(flood, socket)))
  })
  const line = await findConnection(node, 1_000)
  await until(() => [...sockets].every((socket) => socket.destroyed))
  expect(line?.destroyed ?? true).toBe(true)
})
