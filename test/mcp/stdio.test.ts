// howdah mcp as a pipe has it: all calls are answered before it ends, and what keeps a call from the API is told in words for its user.
import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { repository } from '#test/e2e/howdah.ts'
import { startInRegion } from '#test/http/region.ts'
import { shared } from '#test/shared.ts'

type Answer = { id: number; result: object }

const howdah = shared(startInRegion)
let home = ''

beforeEach(() => {
  home = newDataDir()
})
afterEach(() => removeDataDir(home))

/** The answers to the calls, each with the texts of its content. */
async function answersTo(calls: readonly [name: string, args: object][], env: Record<string, string>) {
  const requests = calls.map(([name, args]) => ({ method: 'tools/call', params: { name, arguments: args } }))
  const results = (await resultsOf(requests, env)) as { content: { text: string }[] }[]
  return results.map(({ content }) => content.map(({ text }) => text).join('\n'))
}

/** Stdin ends right behind the last request. */
async function resultsOf(requests: readonly object[], env: Record<string, string>): Promise<object[]> {
  const hello = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'pipe', version: '1' } }
  const messages = [
    { id: 0, method: 'initialize', params: hello },
    { method: 'notifications/initialized' },
    ...requests.map((request, index) => ({ id: index + 1, ...request })),
  ]
  const stdout = await new Promise<string>((resolve, reject) => {
    const child = execFile(
      process.execPath,
      [join(repository, 'cli', 'main.ts'), 'mcp', '--write'],
      { env: { PATH: process.env['PATH'] ?? '', HOME: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home, ...env } },
      (error, text) => (error ? reject(error) : resolve(text)),
    )
    child.stdin?.end(messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join(''))
  })
  const answers = stdout
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Answer)
  return answers
    .filter(({ id }) => id > 0)
    .toSorted((a, b) => a.id - b.id)
    .map(({ result }) => result)
}

const session = () => ({ HOWDAH_SERVER: howdah.server.public_url, HOWDAH_TOKEN: howdah.token })

test('calls that are under way when stdin ends are answered', async () => {
  await howdah.createService({ name: 'shop' })
  const [listed, found] = await answersTo(
    [
      ['list_services', {}],
      ['get_service', { service_id: 'shop' }],
    ],
    session(),
  )
  expect(listed).toContain('"name":"shop"')
  expect(found).toContain('"name":"shop"')
})

test('a resource that is being read when stdin ends is answered', async () => {
  const { service_id } = await howdah.createService({ name: 'read' })
  const uri = `howdah://projects/${howdah.project_id}/services/${service_id}`
  const [read] = await resultsOf([{ method: 'resources/read', params: { uri } }], session())
  expect(read).toMatchObject({ contents: [{ text: expect.stringContaining('"name":"read"') }] })
})

test('a service whose password cannot be kept is made once, and the answer says so', async () => {
  writeFileSync(join(home, 'a file'), '')
  const PGPASSFILE = join(home, 'a file', 'pgpass')
  const [made] = await answersTo([['create_service', { name: 'homeless', wait_seconds: 0 }]], {
    ...session(),
    PGPASSFILE,
  })
  expect(made).toContain('its password is not kept')
  expect(made).toContain('"name":"homeless"')
})

test('a login that has ended is told, and how to make a new one', async () => {
  const tokens = { access_token: 'old', refresh_token: 'old', expires_at: '2026-01-01T00:00:00Z' }
  mkdirSync(join(home, 'howdah'))
  const profiles = { default: { api_url: howdah.server.api_url, ...tokens } }
  writeFileSync(join(home, 'howdah', 'credentials.json'), JSON.stringify(profiles))
  const [listed] = await answersTo([['list_services', {}]], {})
  expect(listed).toBe('the login has ended; howdah login makes a new one')
})

test('a server that does not answer is named; a change that cannot have arrived may be tried again', async () => {
  const nowhere = { HOWDAH_SERVER: 'http://127.0.0.1:9', HOWDAH_TOKEN: howdah.token }
  const [made] = await answersTo([['create_service', { name: 'none' }]], nowhere)
  expect(made).toBe('http://127.0.0.1:9 does not answer; is the server running?\nTry again.')
})
