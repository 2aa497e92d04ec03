// From an empty directory to a query and back, by the real command and nothing else: what a new user does first.
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Service } from '#contract/service.ts'
import { listPids, newDataDir, removeDataDir } from '#test/data-dir.ts'
import { newServicePorts } from '#test/ports.ts'
import { howdah, type Started, startHowdah } from '#test/e2e/howdah.ts'
import { until } from '#test/until.ts'

let data_dir = ''
let home = ''
let files: Record<string, string> = {}
let place: string[] = []
let server: Started
let service: Service

beforeAll(() => {
  data_dir = newDataDir()
  home = newDataDir()
  files = { HOME: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home }
  const { first, last } = newServicePorts()
  place = ['--data-dir', data_dir, '--service-ports', `${first}-${last}`]
})

afterAll(async () => {
  await removeDataDir(data_dir)
  await removeDataDir(home)
})

test('the first start prints its addresses, a token, and the command to type next, in at most eight lines', async () => {
  server = await startHowdah(place, files)
  const output = server.output()
  expect(output).toContain(server.url.replace('/public/api/v1', '/docs'))
  expect(output).toContain(data_dir)
  expect(output).toMatch(/limits are (not )?enforced/)
  expect(output.match(tokens)?.[0]).toBeDefined()
  expect(output).toMatch(/^ {2}Next .*howdah service create shop$/m)
  const said = output.split('\n').filter((line) => line !== '' && !/^ {2}Warning|^The console is ready/.test(line))
  expect(said.length).toBeLessThanOrEqual(8)
  const link = /http\S+\/oauth\/password\/set\?token=\S+/.exec(output)?.[0] ?? ''
  expect(await (await fetch(link)).text()).toContain('admin@howdah.local')
})

test('it leaves a login that only its user can read, with which the printed lines create a service and wait for it', async () => {
  expect(statSync(join(home, 'howdah', 'credentials.json')).mode & 0o777).toBe(0o600)
  const [, line = ''] = /^ {2}Next +\S*howdah (service create .*)$/m.exec(server.output()) ?? []
  const words = line.split(' ')
  const made = await howdah([...words, '-o', 'json'], files)
  expect(made.stderr).toContain('shop: READY')
  service = JSON.parse(made.stdout) as Service
  expect(service).toMatchObject({
    name: 'shop',
    status: 'READY',
    initial_password: expect.stringMatching(/^[\w-]{32}$/),
  })
  const { host, port } = service.endpoint
  expect(readFileSync(join(home, '.pgpass'), 'utf8')).toBe(`${host}:${port}:*:tsdbadmin:${service.initial_password}\n`)
  expect(statSync(join(home, '.pgpass')).mode & 0o777).toBe(0o600)
})

test('one connects with the password from the answer, over TLS that the CA of this installation vouches for', async () => {
  const ca = await (await fetch(`${server.url}/ca.pem`)).text()
  const rows = await until(() => query(ca, 'create table if not exists kept (n int); select current_user as who'))
  expect(rows).toEqual([{ who: 'tsdbadmin' }])
})

test('status tells what runs', async () => {
  const seen = await until(async () => {
    const { stdout } = await howdah(['status', '--json', ...place])
    return stdout.includes('READY') && (JSON.parse(stdout) as object)
  })
  expect(seen).toMatchObject({ servers: [{ url: server.url }], services: { READY: 1 }, databases_running: 1 })
})

test('stop ends the server and no database', async () => {
  const stopped = await howdah(['stop', ...place])
  expect(stopped).toMatchObject({ code: 0, stdout: expect.stringContaining('Stopped 1 server.') })
  expect(await server.end()).toBe(0)
  const { stdout } = await howdah(['status', '--json', ...place])
  expect(JSON.parse(stdout)).toMatchObject({ servers: [], databases_running: 1 })
})

test('the second start prints no secret and finds the service, and loads nothing of regions that it does not have', async () => {
  const loaded = {
    NODE_OPTIONS: `--import ${join(import.meta.dirname, 'loaded.ts')}`,
    LOADED_FILE: join(home, 'loaded'),
  }
  server = await startHowdah(place, { ...files, ...loaded })
  const modules = readFileSync(loaded.LOADED_FILE, 'utf8')
  expect(modules).toContain('/providers/local/local.ts')
  expect(modules).not.toContain('/providers/kubernetes/')
  expect(modules).not.toContain('/providers/memory/')
  expect(server.output()).not.toMatch(tokens)
  expect(server.output()).not.toMatch(/^ {2}(Next|Token|Password)/m)
  const made = await howdah(['admin', 'token', 'create', '--name', 'second', ...place])
  const services = `${server.url}/projects/${service.project_id}/services`
  const answer = await fetch(services, { headers: { authorization: `Bearer ${made.stdout.trim()}` } })
  expect(await answer.json()).toMatchObject([{ service_id: service.service_id, endpoint: service.endpoint }])
  const ca = await (await fetch(`${server.url}/ca.pem`)).text()
  expect(await until(() => query(ca, 'select * from kept'))).toEqual([])
})

test('stop --all leaves nothing running', async () => {
  const stopped = await howdah(['stop', '--all', ...place])
  expect(stopped.stdout).toBe('Stopped 1 server.\nStopped 1 database and the embedded metadata store.\n')
  expect(stopped.code).toBe(0)
  await server.end()
  expect(listPids(data_dir)).toEqual([])
})

const tokens = /\b[A-Z2-9]{16}\.[\w-]{40}(?![\w-])/g

async function query(ca: string, text: string): Promise<object[]> {
  const { host, port } = service.endpoint
  const password = service.initial_password
  const client = new pg.Client({ host, port, user: 'tsdbadmin', database: 'tsdb', password, ssl: { ca } })
  await client.connect()
  try {
    const result: pg.QueryResult<object> | pg.QueryResult<object>[] = await client.query(text)
    return (Array.isArray(result) ? result.at(-1) : result)?.rows ?? []
  } finally {
    await client.end()
  }
}
