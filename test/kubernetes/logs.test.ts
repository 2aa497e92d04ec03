// The log of a service in a Kubernetes region, from the lines of its Pods: pages and tails, filters, refusals, and no password.
import { expect, test } from 'vitest'
import type { LogPage, LogQuery, LogTail } from '#providers/log.ts'
import type { Provider } from '#providers/provider.ts'
import { newWanted, settle } from './wanted.ts'
import { namespaceOf, useKubernetes } from './world.ts'

const { newWorld } = useKubernetes()
const service_id = 'logged0000'
const begun_ms = Date.UTC(2026, 2, 1, 12)
const timeOf = (seconds: number) => new Date(begun_ms + seconds * 1000).toISOString()

/** As the operator's programs write it, with the time of the node before it. */
function lineOf(seconds: number, record: Readonly<Record<string, string>>): string {
  const log_time = timeOf(seconds).replace('T', ' ').replace('Z', ' UTC')
  const whole = {
    level: 'info',
    logger: 'postgres',
    msg: 'record',
    record: { log_time, error_severity: 'LOG', process_id: '7', ...record },
  }
  return `${timeOf(seconds).replace('Z', '5Z')} ${JSON.stringify(whole)}`
}

const lines = [
  `${timeOf(0)} {"level":"info","logger":"instance-manager","msg":"Starting"}`,
  ...Array.from({ length: 9 }, (_, at) => lineOf(at + 1, { message: `entry ${at + 1}` })),
  lineOf(10, { error_severity: 'ERROR', message: 'no such ROLE', query: `alter role bob password 'S3cr3t'` }),
  lineOf(11, { message: 'a session of the control plane', user_name: 'postgres' }),
]

async function openLogged() {
  const world = await newWorld()
  const provider = await world.open()
  const wanted = await newWanted(provider, { service_id })
  await settle(provider, wanted)
  const path = `/api/v1/namespaces/${namespaceOf(wanted)}/pods/s-${service_id}-1`
  world.api.logs.set(path, lines)
  return { provider, add: (line: string) => void world.api.logs.set(path, [...lines, line]) }
}

const all: LogQuery = { skip: 0, limit: 4, search: [], severities: [] }

async function pageOf({ logs }: Provider, query: Partial<LogQuery> = {}): Promise<LogPage> {
  const page = await logs.page(service_id, { ...all, ...query })
  if (!('entries' in page)) throw new Error(JSON.stringify(page))
  return page
}

const messagesIn = ({ entries }: LogPage) => entries.map(({ message }) => message)

test('pages go back to the beginning, newest first, and filters hold', async () => {
  const { provider } = await openLogged()
  const found: string[] = []
  for (let cursor: string | undefined, page = 0; page === 0 || cursor !== undefined; page += 1) {
    const next = await pageOf(provider, { cursor })
    found.push(...messagesIn(next))
    cursor = next.cursor
  }
  expect(found).toHaveLength(10)
  expect(found[0]).toMatch(/^no such ROLE\nSTATEMENT: {2}alter role bob/)
  expect(found.join()).not.toContain('S3cr3t')
  expect(found.slice(1)).toEqual(Array.from({ length: 9 }, (_, at) => `entry ${9 - at}`))
  expect(messagesIn(await pageOf(provider, { search: ['ENTRY', '7'] }))).toEqual(['entry 7'])
  expect((await pageOf(provider, { severities: ['ERROR'] })).entries).toMatchObject([
    { severity: 'ERROR', timestamp: timeOf(10), process_id: 7 },
  ])
  const between = { since_ms: begun_ms + 3000, until_ms: begun_ms + 6000 }
  expect(messagesIn(await pageOf(provider, between))).toEqual(['entry 5', 'entry 4'])
  expect(messagesIn(await pageOf(provider, { skip: 8 }))).toEqual(['entry 2', 'entry 1'])
})

test('what names nothing is refused', async () => {
  const { provider } = await openLogged()
  const { cursor } = await pageOf(provider)
  const ask = (query: Partial<LogQuery>, id = service_id) => provider.logs.page(id, { ...all, ...query })
  expect(await ask({ node: 7 })).toEqual({ refused: 'node' })
  expect(await ask({ cursor: 'bm9uZQ' })).toEqual({ refused: 'cursor' })
  expect(await ask({ cursor }, 'other00000')).toEqual({ refused: 'cursor' })
  expect(await ask({}, 'other00000')).toMatchObject({ entries: [] })
})

test('a tail has each entry once, also those that come later', async () => {
  const { provider, add } = await openLogged()
  const query = { search: [], severities: [] }
  const tail = async (after?: string) => (await provider.logs.tail(service_id, { ...query, after })) as LogTail
  const first = await tail()
  expect(first.entries).toHaveLength(10)
  expect((await tail(first.entries[7]?.at)).entries).toHaveLength(2)
  const [newest, next] = (await pageOf(provider)).placed()
  expect((await tail(newest?.at)).entries).toEqual([])
  expect((await tail(next?.at)).entries).toMatchObject([{ at: newest?.at, node: 0 }])
  const { cursor } = await pageOf(provider)
  expect((await tail(cursor)).entries).toHaveLength(all.limit)
  expect(await tail(first.at)).toEqual({ entries: [], at: first.at })
  add(lineOf(12, { message: 'late' }))
  expect((await tail(first.at)).entries.map(({ entry }) => entry.message)).toEqual(['late'])
})
