// Two server processes on one metadata store and one data directory. Whichever is killed, the other one ends its work.
import { afterEach, beforeEach, expect, test } from 'vitest'
import { lease_seconds } from '#server/work.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { newServicePorts } from '#test/ports.ts'
import { newSeededDataDir } from '#test/seed.ts'
import { type ServerProcess, startServerProcess } from '#test/server-process.ts'
import { postmasterPid } from '#test/traces.ts'
import { until } from '#test/until.ts'

let data_dir: string
let service_ports: { first: number; last: number }

beforeEach(async () => {
  data_dir = await newSeededDataDir()
  service_ports = newServicePorts()
})
afterEach(() => removeDataDir(data_dir))

const start = (more: { kill_at_effect?: string } = {}) => startServerProcess({ data_dir, service_ports, ...more })

test('what a server left half-made when it was killed is ended by the other one', { timeout: 600_000 }, async () => {
  expect(lease_seconds).toBeLessThanOrEqual(10)
  const steady = await start()
  const doomed = await start({ kill_at_effect: 'data directory: rename into place' })
  const { call, services } = caller(steady)
  const death = new AbortController()
  void doomed.ended.then(() => death.abort())

  const created: string[] = []
  const creates_max = 20
  while (!death.signal.aborted && created.length < creates_max) {
    // Which of the two makes it is chance; sooner or later the doomed one has its turn.
    const { status, body } = await call('POST', services, { name: 'shared work', cpu_millis: 'shared' })
    expect(status).toBe(202)
    created.push(body.service_id)
    await until(async () => death.signal.aborted || (await statusOf(steady, body.service_id)) === 'READY')
  }
  expect(death.signal.aborted).toBe(true)

  for (const service_id of created) await until(async () => (await statusOf(steady, service_id)) === 'READY')
  await steady.end()
})

test('a database that only a server watched that is no more comes back by the other one, and outlives that one when it is told to stop', async () => {
  const watching = await start()
  const { call, services } = caller(watching)
  const { body } = await call('POST', services, { name: 'watched', cpu_millis: 'shared' })
  await until(async () => (await statusOf(watching, body.service_id)) === 'READY')
  const other = await start()
  await until(async () => (await statusOf(other, body.service_id)) === 'READY')
  const killed = postmasterPid(data_dir, body.service_id)
  await watching.end()
  process.kill(killed, 'SIGKILL')
  const isBack = () => postmasterPid(data_dir, body.service_id) !== killed
  await until(isBack, { what: 'it runs again' })
  await until(async () => (await statusOf(other, body.service_id)) === 'READY')
  const healed = postmasterPid(data_dir, body.service_id)
  await other.end('SIGTERM')
  const last = await start()
  expect(last.first_token).toBeUndefined()
  await until(async () => (await statusOf(last, body.service_id)) === 'READY')
  expect(last.effects.filter((name) => name.includes('start'))).toEqual([])
  expect(postmasterPid(data_dir, body.service_id)).toBe(healed)
  await last.end()
})

test('several servers that start at once share one store, one token and one CA', async () => {
  // From nothing, so that they also make the store at once.
  await removeDataDir(data_dir)
  data_dir = newDataDir()
  const servers = await Promise.all([start(), start(), start()])
  expect(servers.filter(({ first_token }) => first_token !== undefined)).toHaveLength(1)
  const authorities = await Promise.all(servers.map(async ({ api_url }) => (await fetch(`${api_url}/ca.pem`)).text()))
  expect(new Set(authorities).size).toBe(1)
  await Promise.all(servers.map((server) => server.end()))
})

let token: string | undefined

function caller(server: ServerProcess) {
  token = server.first_token ?? token
  return { call: server.callWith(token ?? ''), services: `/projects/${server.project_id}/services` }
}

async function statusOf(server: ServerProcess, service_id: string): Promise<string> {
  const { call, services } = caller(server)
  return (await call('GET', `${services}/${service_id}`)).body.status
}
