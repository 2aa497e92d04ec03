// Bench: transactions a second over long and over short connections, by TLS and SCRAM: directly, through the service's pooler,
// and through a PgBouncer started by hand with the same settings; and 2,000 idle clients of one small service.
// The load is Node's own `pg`: the machine's cores are shared by it, the pooler and PostgreSQL.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import type { Service } from '#contract/service.ts'
import { atLeast, type Figure, printFigures, spread } from './figures.ts'
import { type Bench, withHowdah } from './howdah.ts'
import { inPlace } from './place.ts'
import { freePort } from './plain-postgres.ts'
import { withHandMadePooler } from './pooler-floor.ts'
import { memoryMbOf } from './processor.ts'

type Door = { host: string; port: number; database: string; password: string; ca: string }

/** Short, so that all of them meet the same weather. */
const turn_ms = 500
const long_clients = 8
const short_clients = 4
const idle_clients = 2_000
const logins_at_once = 20

await inPlace(40, async ({ folder, description, runs }) => {
  await withHowdah(join(folder, 'howdah'), async (bench) => {
    const { service_id, initial_password: password = '' } = await bench.createService('pooled', {
      cpu_millis: '1000',
      memory_gbs: '4',
    })
    await bench.waitFor(service_id, 'READY')
    const { endpoint, connection_pooler } = await enablePooler(bench, service_id)
    if (!endpoint || !connection_pooler?.endpoint) throw new Error('the service names no pooler')
    const { host, port } = connection_pooler.endpoint
    const ca = await (await fetch(`${bench.url}/ca.pem`)).text()
    const pooled: Door = { host, port, database: 'tsdb_transaction', password, ca }
    const direct: Door = { ...pooled, port: endpoint.port, database: 'tsdb' }
    const home = join(bench.data_dir, 'local', 'services', service_id)
    const hand_port = await freePort()
    const figures = await withHandMadePooler({ home, folder, port: hand_port }, async () => {
      const doors = { direct, by_hand: { ...pooled, port: hand_port }, pooled }
      return [
        ...figuresOf('long connections', await compare(runs, doors, onLongConnections)),
        ...figuresOf('a connection each', await compare(runs, doors, onShortConnections)),
      ]
    })
    figures.push(await idleFigure(pooled, home))
    printFigures(`pooler, ${runs} turns of ${turn_ms / 1000} s, service 1000/4, on ${description}`, figures)
  })
})

async function enablePooler({ url, token, project_id }: Bench, service_id: string): Promise<Service> {
  const at = `${url}/projects/${project_id}/services/${service_id}`
  const headers = { authorization: `Bearer ${token}` }
  const answer = await fetch(`${at}/enablePooler`, { method: 'POST', headers })
  if (!answer.ok) throw new Error(await answer.text())
  return (await (await fetch(at, { headers })).json()) as Service // the contract's own answer
}

type Doors = Record<'direct' | 'by_hand' | 'pooled', Door>
type Rates = Record<keyof Doors, number[]>

/** In turns, each in the other order, so that whatever else the machine does meets all of them. */
async function compare(runs: number, doors: Doors, load: (door: Door) => Promise<number>): Promise<Rates> {
  const rates: Rates = { direct: [], by_hand: [], pooled: [] }
  for (const door of Object.values(doors)) await load(door)
  for (let run = 0; run < runs; run += 1) {
    const order = ['direct', 'by_hand', 'pooled'] as const
    for (const name of run % 2 === 0 ? order : order.toReversed()) rates[name].push(await load(doors[name]))
  }
  return rates
}

function figuresOf(what: string, { direct, by_hand, pooled }: Rates): Figure[] {
  // Of all transactions: single turns are too short to be compared.
  const against = (floor: readonly number[]) => sumOf(pooled) / sumOf(floor)
  const ratio = against(by_hand)
  const unit = 'tps'
  return [
    {
      what: `${what}, against one by hand`,
      floor: spread(by_hand, unit),
      ours: spread(pooled, unit),
      ratio,
      goal: atLeast(0.95, ratio),
    },
    {
      what: `${what}, against none`,
      floor: spread(direct, unit),
      ours: spread(pooled, unit),
      ratio: against(direct),
    },
  ]
}

function sumOf(rates: readonly number[]): number {
  return rates.reduce((sum, rate) => sum + rate, 0)
}

async function onLongConnections(door: Door): Promise<number> {
  const clients = await Promise.all(Array.from({ length: long_clients }, () => login(door)))
  const rate = await rateOf(long_clients, async (at) => void (await clients[at]?.query('select 1')))
  await Promise.all(clients.map((client) => client.end()))
  return rate
}

function onShortConnections(door: Door): Promise<number> {
  return rateOf(short_clients, async () => {
    const client = await login(door)
    await client.query('select 1')
    await client.end()
  })
}

/** How often a second the work is done by so many at once. */
async function rateOf(workers: number, work: (at: number) => Promise<void>): Promise<number> {
  const start = performance.now()
  let done = 0
  await Promise.all(
    Array.from({ length: workers }, async (_, at) => {
      for (; performance.now() - start < turn_ms; done += 1) await work(at)
    }),
  )
  return (done * 1000) / (performance.now() - start)
}

async function idleFigure(door: Door, home: string): Promise<Figure> {
  const clients: pg.Client[] = []
  for (let at = 0; at < idle_clients; at += logins_at_once) {
    clients.push(...(await Promise.all(Array.from({ length: logins_at_once }, () => login(door)))))
  }
  const pooler_mb = residentMb(home)
  // All of them at once, of whom a few are served at a time.
  const answers = await Promise.all(clients.map((client) => client.query('select 1')))
  await Promise.all(clients.map((client) => client.end()))
  return {
    what: 'idle clients held and then answered',
    ours: `${answers.length}, by a pooler of ${pooler_mb.toFixed(0)} MB`,
    goal: atLeast(idle_clients, answers.length),
  }
}

function residentMb(home: string): number {
  const pid = Number(readFileSync(join(home, 'pooler', 'pid'), 'utf8'))
  return memoryMbOf(pid)
}

async function login({ ca, ...door }: Door): Promise<pg.Client> {
  const client = new pg.Client({ ...door, user: 'tsdbadmin', ssl: { ca } })
  client.on('error', () => undefined)
  await client.connect()
  return client
}
