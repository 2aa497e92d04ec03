// Ports, by really binding them on loopback, and the candidates of a region among them.
import { once } from 'node:events'
import { type AddressInfo, type Server, createServer } from 'node:net'
import { afterEach, expect, test } from 'vitest'
import { addressesFor } from '#providers/local/addresses.ts'
import { portIsFree } from '#providers/local/postgres/port.ts'

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

test('a port is not free while a program listens on it', async () => {
  const port = await listen()
  expect(await portIsFree(host, port)).toBe(false)
})

test('candidates are the ports of the range, in the same order for one owner, and in another for the next', async () => {
  const ports = { first: 10_000, last: 10_099 }
  const listFor = async (id: string) => {
    const found: number[] = []
    const list = async () => {
      for await (const { port } of addressesFor({ host, ports }, { id, role: 'service' })) found.push(port)
    }
    await expect(list()).rejects.toThrow('no port is free on 127.0.0.1 from 10000 to 10099')
    return found
  }
  const once = await listFor('one')
  expect(await listFor('one')).toEqual(once)
  expect(await listFor('other')).not.toEqual(once)
  expect(once.toSorted((a, b) => a - b)[0]).toBeGreaterThanOrEqual(ports.first)
  expect(new Set(once).size).toBe(once.length)
})

test('a port on which a program listens is no candidate, and when none is left a sentence says what to do', async () => {
  const port = await listen()
  const candidates = addressesFor({ host, ports: { first: port, last: port } }, { id: 'one', role: 'service' })
  await expect(candidates.next()).rejects.toThrow(`no port is free on 127.0.0.1 from ${port} to ${port}`)
})

test('on an address that this host does not have there is no candidate, and a sentence says what to do', async () => {
  const candidates = addressesFor(
    { host: '192.0.2.1', ports: { first: 20_000, last: 20_099 } },
    { id: 'one', role: 'service' },
  )
  await expect(candidates.next()).rejects.toThrow(
    'databases cannot listen on 192.0.2.1 (EADDRNOTAVAIL); start the server',
  )
})

test('in a VPC the candidates are its addresses, from the lowest on, without those of the network itself', async () => {
  const range = { host, ports: { first: 1, last: 2 } }
  const use = { id: 'one', role: 'service', cidr: '10.64.3.16/29' } as const
  const found: string[] = []
  const list = async () => {
    for await (const { host, port } of addressesFor(range, use)) found.push(`${host}:${port}`)
  }
  await expect(list()).rejects.toThrow('the VPC (10.64.3.16/29) has no free address')
  expect(found).toEqual([18, 19, 20, 21, 22].map((last) => `10.64.3.${last}:5432`))
})

test('an address that this host does not have is an error, not a port in use', async () => {
  await expect(portIsFree('192.0.2.1', 20_000)).rejects.toMatchObject({ code: 'EADDRNOTAVAIL' })
})
