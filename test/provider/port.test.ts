// Ports, by really binding them on loopback.
import { once } from 'node:events'
import { type AddressInfo, type Server, createServer } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { freePort, portIsFree } from '#providers/local/postgres/port.ts'

const host = '127.0.0.1'
const servers: Server[] = []

async function listen(): Promise<number> {
  const server = createServer().listen(0, host)
  servers.push(server)
  await once(server, 'listening')
  return (server.address() as AddressInfo).port // a TCP server has no other kind of address
}

afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => new Promise((resolve) => server.close(resolve))))
})

test('a port is not free while somebody listens on it', async () => {
  const port = await listen()
  expect(await portIsFree(host, port)).toBe(false)
})

test('a port of the range is found that is none of the taken ones', async () => {
  const ports = { first: 10_000, last: 10_999 }
  const taken = new Set(Array.from({ length: 900 }, (_, index) => ports.first + index))
  const port = await freePort(host, ports, taken)
  expect(port).toBeGreaterThanOrEqual(10_900)
  expect(port).toBeLessThanOrEqual(ports.last)
})

test('when no port is left the answer is a sentence with the range', async () => {
  const port = await listen()
  await expect(freePort(host, { first: port, last: port }, new Set())).rejects.toThrow(
    `no port is free on 127.0.0.1 from ${port} to ${port}`,
  )
})

test('an address that this host does not have is an error, not a port in use', async () => {
  await expect(portIsFree('192.0.2.1', 20_000)).rejects.toMatchObject({ code: 'EADDRNOTAVAIL' })
})
