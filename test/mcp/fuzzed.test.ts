// Arguments that no agent should send, to every tool, also to those that change something: each call is answered in words that an agent can act
// on. The seed is fixed: a run can be repeated. And lines on stdin that are no messages.
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import fc from 'fast-check'
import { beforeAll, expect, onTestFinished, test } from 'vitest'
import { anyText } from '#test/any-text.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { startInRegion } from '#test/http/region.ts'
import { shared } from '#test/shared.ts'

const sample = { seed: 20_261_115, numRuns: 8 }

const howdah = shared(() => startInRegion({ config: { rate_limit: 0 } }))
let service_id: string
beforeAll(async () => {
  service_id = (await howdah.createService({ name: 'shop' })).service_id
})

type Tool = { name: string; inputSchema: { properties: Record<string, unknown> } }
type Answer = {
  error?: { message: string }
  result?: { isError?: boolean; content?: { text: string }[]; tools?: Tool[] }
}

async function post(method: string, params: unknown): Promise<{ status: number; answer: Answer }> {
  const { status, text } = await send({ jsonrpc: '2.0', id: 1, method, params })
  return { status, answer: JSON.parse(text.replace(/^[^{]*/, '')) as Answer }
}

async function send(message: unknown): Promise<{ status: number; text: string }> {
  const headers = {
    authorization: `Bearer ${howdah.token}`,
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
  }
  const body = JSON.stringify(message)
  const response = await fetch(`${howdah.server.public_url}/mcp?write=true`, { method: 'POST', headers, body })
  return { status: response.status, text: await response.text() }
}

const texts = [
  '',
  ' ',
  '\0',
  '\ud800',
  '../..',
  '%2e%2e%2f',
  '__proto__',
  'constructor',
  "'; drop table t; --",
  'x'.repeat(20_000),
]
const wrong = fc.oneof(
  fc.constantFrom<unknown>(
    ...texts,
    null,
    true,
    -1,
    1.5,
    1e308,
    [],
    [null],
    {},
    [[]],
    { toString: 1 },
    { service_id: {} },
  ),
  anyText({ maxLength: 40 }),
  fc.jsonValue({ maxDepth: 3 }),
)
/** What lets a call come farther. */
const right: Record<string, readonly unknown[]> = {
  name: ['new', 'connections'],
  query: ['select 1'],
  fork_strategy: ['NOW', 'PITR', 'LAST_SNAPSHOT'],
  environment: ['DEV'],
  from: ['2026-11-15T10:00:00Z'],
  to: ['2026-11-15T11:00:00Z'],
}

function argumentsOf({ inputSchema }: Tool): fc.Arbitrary<Record<string, unknown>> {
  const members = Object.keys(inputSchema.properties).map((name) => {
    // Of how long a call waits no test should hear.
    const few: fc.Arbitrary<unknown> = fc.constantFrom<unknown>(0, -1, '9', null, {}, [])
    if (name === 'wait_seconds') return [name, few] as const
    const known = name === 'service_id' ? ['shop', service_id] : (right[name] ?? [])
    return [name, known.length === 0 ? wrong : fc.oneof(wrong, fc.constantFrom(...known))] as const
  })
  return fc.record(Object.fromEntries(members), {
    requiredKeys: inputSchema.properties['wait_seconds'] ? ['wait_seconds'] : [],
  })
}

/** Our own bug, or an exception that no part of the server has put into words. */
const failures = /^(INTERNAL|UNAVAILABLE)|could not be asked|\[object |undefined|TypeError| at .*\.ts/

test('every call is answered in words', async () => {
  const tools = (await post('tools/list', {})).answer.result?.tools ?? []
  expect(tools.length).toBeGreaterThan(20)
  let refused = 0
  for (const tool of tools) {
    for (const args of fc.sample(argumentsOf(tool), sample)) {
      const { status, answer } = await post('tools/call', { name: tool.name, arguments: args })
      const said = answer.error?.message ?? answer.result?.content?.map(({ text }) => text).join('\n') ?? ''
      const call = `${tool.name} ${JSON.stringify(args).slice(0, 2000)}`
      expect([call, status]).toEqual([call, 200])
      expect([call, said]).toEqual([call, expect.stringMatching(/\S/)])
      if (answer.result?.isError !== true) continue
      refused += 1
      expect([call, said]).not.toEqual([call, expect.stringMatching(failures)])
    }
  }
  expect(refused).toBeGreaterThan(tools.length)
})

test.each<[string, unknown]>([
  ['no arguments', { name: 'run_sql' }],
  ['a list', { name: 'run_sql', arguments: [] }],
  ['a text', { name: 'run_sql', arguments: 'select 1' }],
  ['a name that is none', { name: {}, arguments: {} }],
  ['a name of every object', { name: 'constructor', arguments: {} }],
  ['members of every object', { name: 'get_service', arguments: JSON.parse('{"__proto__": {"service_id": "shop"}}') }],
  ['nothing', undefined],
])('a call with %s is refused in words', async (_what, params) => {
  const { status, answer } = await post('tools/call', params)
  expect(status).toBeLessThan(500)
  expect(answer.error?.message ?? answer.result?.content?.[0]?.text).toMatch(/\S/)
  expect(answer.result?.isError ?? answer.error !== undefined).toBe(true)
})

test('of a batch not more than 20 calls are made at once', async () => {
  const params = { name: 'list_services', arguments: {} }
  const calls = Array.from({ length: 25 }, (_, id) => ({ jsonrpc: '2.0', id, method: 'tools/call', params }))
  const { status, text } = await send(calls)
  expect([status, text.match(/"id":\d+/g)?.length]).toEqual([200, 25])
  expect(text.match(/20 calls are under way; wait for their answers/g)).toHaveLength(5)
})

test('a line on stdin that is no message is answered, and the next one is served', async () => {
  const home = newDataDir()
  onTestFinished(() => removeDataDir(home))
  const env = { HOME: home, HOWDAH_SERVER: howdah.server.public_url, HOWDAH_TOKEN: howdah.token }
  const main = join(import.meta.dirname, '../../cli/main.ts')
  const child = spawn(process.execPath, [main, 'mcp'], { env, stdio: ['pipe', 'pipe', 'inherit'] })
  onTestFinished(() => void child.kill())
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const answerTo = async (line: string) => {
    child.stdin.write(`${line}\n`)
    return JSON.parse(String((await lines.next()).value)) as unknown
  }
  expect(await answerTo('no JSON')).toMatchObject({ jsonrpc: '2.0', id: null, error: { code: -32_700 } })
  expect(await answerTo('{"of": "another protocol"}')).toMatchObject({ id: null, error: { code: -32_600 } })
  const params = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'test', version: '1' } }
  const hello = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params })
  expect(await answerTo(`\r\n${hello}`)).toMatchObject({ id: 1, result: { serverInfo: { name: 'howdah' } } })
  child.stdin.end()
  expect(await lines.next()).toMatchObject({ done: true })
})
