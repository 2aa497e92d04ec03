// From an empty directory to a query and back, by the real command and nothing else: what a new user does first.
import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Service } from '#contract/service.ts'
import { listPids, newDataDir, removeDataDir } from '#test/data-dir.ts'
import { newServicePorts } from '#test/ports.ts'
import { howdah, type Started, startHowdah } from '#test/e2e/howdah.ts'
import { until } from '#test/until.ts'

const has_curl = spawnSync('curl', ['--version']).status === 0

let data_dir = ''
let place: string[] = []
let server: Started
let service: Service

beforeAll(() => {
  data_dir = newDataDir()
  const { first, last } = newServicePorts()
  place = ['--data-dir', data_dir, '--service-ports', `${first}-${last}`]
})

afterAll(async () => {
  await removeDataDir(data_dir)
})

test('the first start prints its addresses, a token, and lines to paste', async () => {
  server = await startHowdah(place)
  const output = server.output()
  expect(output).toContain(server.url.replace('/public/api/v1', '/docs'))
  expect(output).toContain(data_dir)
  expect(output).toMatch(/limits are (not )?enforced/)
  expect(output.match(tokens)?.[0]).toBeDefined()
  expect(output).toContain('psql "host=')
  const link = /http\S+\/oauth\/password\/set\?token=\S+/.exec(output)?.[0] ?? ''
  expect(await (await fetch(link)).text()).toContain('admin@howdah.local')
})

test('the printed lines create a service and wait for it', async () => {
  if (has_curl) {
    const answers = sh(printedLines(server.output()).filter((line) => !line.startsWith('psql')))
    const [made = '', seen = ''] = answers.split('\n')
    expect(JSON.parse(seen)).toMatchObject({ status: 'READY' })
    service = JSON.parse(made) as Service
  } else {
    const token = server.output().match(tokens)?.[0] ?? ''
    const url = /services=(\S+)/.exec(server.output())?.[1] ?? ''
    const headers = { authorization: `Bearer ${token}`, 'content-type': 'application/json' }
    const answer = await fetch(url, { method: 'POST', headers, body: '{"name":"first"}' })
    service = (await answer.json()) as Service
  }
  expect(service).toMatchObject({ name: 'first', initial_password: expect.stringMatching(/^[\w-]{32}$/) })
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

test('the second start prints no secret and finds the service', async () => {
  server = await startHowdah(place)
  expect(server.output()).not.toMatch(tokens)
  expect(server.output()).not.toContain('first start')
  const made = await howdah(['token', 'create', '--name', 'second', ...place])
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

function printedLines(output: string): string[] {
  const lines = output.split('\n').map((line) => line.trim())
  const first = lines.findIndex((line) => line.startsWith('services='))
  return lines.slice(first, lines.indexOf('', first))
}

function sh(lines: readonly string[]): string {
  // The lines leave the CA file where they run, which must not be the repository.
  const cwd = join(data_dir, 'pasted')
  mkdirSync(cwd, { recursive: true })
  const ran = spawnSync('sh', ['-e', '-c', lines.join('\n')], { cwd, encoding: 'utf8', timeout: 60_000 })
  expect(ran.stderr).toBe('')
  return ran.stdout
}

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
