// Answers that get lost, servers that are started anew, waits that end early: no password is lost, and the command says what may have
// happened. And the greeting of a first start, which knows the shell's PATH.
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { buffer } from 'node:stream/consumers'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { nextStep } from '#cli/first-login.ts'
import type { Service } from '#contract/service.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { repository } from '#test/e2e/howdah.ts'
import { startInRegion } from '#test/http/region.ts'
import { shared } from '#test/shared.ts'
import { howdahHere } from './user.ts'

const installation = shared(startInRegion)
let door: Server
let home = ''
/** How many answers to requests that make something are lost from now on. */
let losses = 0

beforeAll(async () => {
  // In front of the server: it passes requests on, and breaks the connection instead of an answer.
  door = createServer((request, response) => void pass(request, response))
  await new Promise<void>((resolve) => door.listen(0, '127.0.0.1', resolve))
})

async function pass(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const body = await buffer(request)
  const { host: _, connection: __, 'content-length': ___, ...headers } = request.headers
  const answer = await fetch(`${installation.server.url}${request.url}`, {
    method: request.method ?? 'GET',
    headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
    ...(body.length > 0 && { body }),
  })
  if (request.method === 'POST' && losses > 0) {
    losses -= 1
    request.socket.destroy()
    return
  }
  response.writeHead(answer.status, { 'content-type': answer.headers.get('content-type') ?? 'text/plain' })
  response.end(Buffer.from(await answer.arrayBuffer()))
}

afterAll(async () => {
  door?.close()
  door?.closeAllConnections()
})

beforeEach(() => {
  home = newDataDir()
  losses = 0
  const files = { HOME: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home, PGPASSFILE: join(home, 'pgpass'), CI: '' }
  const { port } = door.address() as AddressInfo
  const session = { HOWDAH_SERVER: `http://127.0.0.1:${port}`, HOWDAH_TOKEN: installation.token }
  for (const [name, value] of Object.entries({ ...files, ...session })) vi.stubEnv(name, value)
})

afterEach(async () => {
  vi.unstubAllEnvs()
  await removeDataDir(home)
})

const namesakes = async (name: string) =>
  (await installation.call<Service[]>('GET', installation.services)).body.filter((one) => one.name === name)
const kept = () => readFileSync(join(home, 'pgpass'), 'utf8')

test('an answer that gets lost is asked for again: one service, whose password is kept', async () => {
  losses = 2
  const ran = await howdahHere(['service', 'create', 'found', '-o', 'json'])
  expect(ran, ran.stderr).toMatchObject({ code: 0, stderr: expect.stringContaining('trying again') })
  const { initial_password } = JSON.parse(ran.stdout) as Service
  expect(kept()).toContain(`:${initial_password}\n`)
  expect(await namesakes('found')).toHaveLength(1)
  losses = 1
  const forked = await howdahHere(['service', 'fork', 'found', '--name', 'fork of it', '-o', 'json'])
  expect(forked).toMatchObject({ code: 0 })
  expect(kept()).toContain(`:${(JSON.parse(forked.stdout) as Service).initial_password}\n`)
  expect(await namesakes('fork of it')).toHaveLength(1)
})

test('a request without a key is sent once, and the command says what may have happened', async () => {
  expect((await howdahHere(['service', 'create', 'doubtful'])).code).toBe(0)
  losses = 1
  const ran = await howdahHere(['service', 'stop', 'doubtful'])
  expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining('howdah service list shows what there is') })
  const [service] = await namesakes('doubtful')
  await installation.untilStatus(service?.service_id ?? '', 'PAUSED')
})

test('a command that gave up goes on with its key', async () => {
  const words = ['service', 'create', 'given up', '--idempotency-key', 'a-key-of-mine']
  const first = await howdahHere([...words, '-o', 'json'])
  const second = await howdahHere([...words, '-o', 'json'])
  // What the service says of itself may be newer, such as its first snapshot.
  const { service_id, initial_password } = JSON.parse(first.stdout) as Service
  expect(initial_password).toMatch(/^[\w-]{32}$/)
  expect(JSON.parse(second.stdout)).toMatchObject({ service_id, initial_password })
  expect(await namesakes('given up')).toHaveLength(1)
})

test('a wait that ends early loses no password', async () => {
  const words = ['service', 'create', '--region', 'elsewhere', '--timeout', '0s']
  expect((await howdahHere([...words, 'slow'])).code).toBe(7)
  const [{ endpoint } = { endpoint: undefined }] = await namesakes('slow')
  expect(kept()).toMatch(new RegExp(`^${endpoint?.host}:${endpoint?.port}:.*:tsdbadmin:[\\w-]{32}$`, 'm'))
  const printed = await howdahHere([...words, 'slow too', '--password-storage', 'none'])
  expect(printed).toMatchObject({ code: 7, stdout: expect.stringMatching(/^[\w-]{32}\n$/) })
  const named = await howdahHere([...words, 'by name', '--password-storage', 'none', '-o', 'name'])
  expect(named.stderr).toMatch(/^The password, told this once: [\w-]{32}$/m)
  expect(named.stdout).toMatch(/^\w{10}\n$/)
})

test('a password that no file can keep is printed', async () => {
  writeFileSync(join(home, 'a file'), '')
  vi.stubEnv('PGPASSFILE', join(home, 'a file', 'pgpass'))
  const told = { code: 0, stderr: expect.stringContaining('The password is not kept') }
  const made = await howdahHere(['service', 'create', 'homeless'])
  expect(made).toMatchObject({ ...told, stdout: expect.stringMatching(/^[\w-]{32}\n$/) })
  const reset = await howdahHere(['service', 'reset-password', 'homeless', '--yes'])
  expect(reset).toMatchObject({ ...told, stdout: expect.stringMatching(/^[\w-]{32}\n$/) })
  const file = join(home, 'wanted.json')
  writeFileSync(file, JSON.stringify({ services: [{ name: 'applied' }] }))
  const applied = await howdahHere(['apply', '-f', file, '--yes'])
  expect(applied).toMatchObject({ ...told, stdout: expect.stringMatching(/^The password of applied.*: [\w-]{32}$/m) })
})

test('a name that would be options is not the word by which psql is opened', async () => {
  const ran = await howdahHere(['service', 'create', '--name=-c'])
  expect(ran).toMatchObject({ code: 0, stderr: expect.stringMatching(/To connect: howdah service psql \w{10}\n$/) })
})

test('a password that its user chose is kept where clients find it, unless it shall not be', async () => {
  expect((await howdahHere(['service', 'create', 'chosen'])).code).toBe(0)
  const file = join(home, 'password')
  const words = ['service', 'update-password', 'chosen', '--password', `@${file}`]
  writeFileSync(file, 'one of my own\n')
  expect(await howdahHere(words)).toMatchObject({ code: 0, stderr: `The password is in ${join(home, 'pgpass')}.\n` })
  expect(kept()).toMatch(/^[^:]+:\d+:\*:tsdbadmin:one of my own\n$/)
  writeFileSync(file, 'another one')
  expect(await howdahHere([...words, '--password-storage', 'none'])).toMatchObject({ code: 0, stderr: 'Done.\n' })
  expect(kept()).not.toContain('another one')
})

test('a snapshot is waited for, and so is its end', async () => {
  expect((await howdahHere(['service', 'create', 'pictured'])).code).toBe(0)
  const taken = await howdahHere(['snapshot', 'create', '--service', 'pictured', '-o', 'json'])
  expect(taken.stderr).toMatch(/snapshot \w+: complete/)
  const { id, status } = JSON.parse(taken.stdout) as { id: string; status: string }
  expect(status).toBe('complete')
  const gone = await howdahHere(['snapshot', 'delete', 'pictured', id, '--yes'])
  expect(gone).toMatchObject({ code: 0, stderr: expect.stringContaining(`${id}: removed`) })
})

test('the console’s address of a service is printed; metrics are drawn', async () => {
  expect((await howdahHere(['service', 'create', 'shown', '--cpu', '500'])).code).toBe(0)
  const [service] = await namesakes('shown')
  const { stdout } = await howdahHere(['open', 'shown', 'logs'])
  expect(new URL(stdout.trim()).pathname).toBe(
    `/projects/${installation.project_id}/services/${service?.service_id}/logs`,
  )
  const alone = await howdahHere(['open', 'shown'])
  expect(`${alone.stdout.trim()}/logs`).toBe(stdout.trim())
  expect((await howdahHere(['open', 'shown', 'nowhere'])).code).toBe(2)
  expect(await howdahHere(['open', 'logs'])).toMatchObject({ code: 2, stdout: '' })
  expect((await howdahHere(['service', 'list'])).stdout).toMatch(/shown .* 0\.5 CPU 2 GB /)
  expect((await howdahHere(['service', 'metrics', 'shown'])).code).toBe(0)
  const sizeless = await howdahHere(['service', 'resize', 'shown'])
  expect(sizeless).toMatchObject({ code: 2, stderr: expect.stringContaining('--cpu or --memory is missing; one') })
  const resized = await howdahHere(['service', 'resize', 'shown', '--cpu', '700'])
  expect(resized).toMatchObject({ code: 2, stderr: expect.stringContaining('--cpu is not that of a size; the sizes') })
})

test('the greeting names the short command where the shell’s howdah is this one', () => {
  const login = { file: '', profile: 'default', is_in_use: true }
  mkdirSync(join(home, 'bin'))
  vi.stubEnv('HOWDAH_CALLERS_PATH', `/nowhere:${join(home, 'bin')}`)
  expect(nextStep(login)).toBe(`${join(repository, 'bin', 'howdah')} service create shop`)
  symlinkSync(join(repository, 'bin', 'howdah'), join(home, 'bin', 'howdah'))
  expect(nextStep(login)).toBe('howdah service create shop')
  expect(nextStep({ ...login, profile: 'local', is_in_use: false })).toBe(
    'howdah profile use local && howdah service create shop',
  )
})
