// A customer's program for bench/vpc.ts, run on the host or inside a VPC: it reads one order as JSON, does it, and prints
// what it saw as JSON. `first`: logs in as soon as that works, and says when. `load`: queries a second of several
// sessions, and how long one query takes while no other session asks.
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'
import pg from 'pg'
import { medianOf } from './figures.ts'

export type Order = { kind: 'first' | 'load'; host: string; port: number; password: string; ca: string }
export type Load = { per_second: number; latency_ms: number }

const sessions = 4
const load_ms = 3_000
/** A session stays on the cores that it began on, and which they are moves the figure by a third: so there are many. */
const lone_sessions = 15
const alone_ms = 100
const retry_ms = 2
const patience_ms = 60_000

const order = JSON.parse(await text(process.stdin)) as Order // written by bench/vpc.ts
console.log(JSON.stringify(order.kind === 'first' ? await firstLogin() : await load()))

/** Milliseconds of the wall clock, which all processes of a host share. */
async function firstLogin(): Promise<number> {
  // Says that it is there: until then its own start would be counted.
  console.log('trying')
  for (const deadline = Date.now() + patience_ms; Date.now() < deadline; await pause(retry_ms)) {
    const client = await login().catch(() => undefined)
    if (client === undefined) continue
    const at_ms = Date.now()
    await client.end()
    return at_ms
  }
  throw new Error('no login within a minute')
}

async function load(): Promise<Load> {
  const clients = await Promise.all(Array.from({ length: sessions }, login))
  let queries = 0
  const end_ms = performance.now() + load_ms
  await Promise.all(
    clients.map(async (client) => {
      for (; performance.now() < end_ms; queries += 1) await ask(client)
    }),
  )
  await Promise.all(clients.map((client) => client.end()))
  const latencies: number[] = []
  for (let lone = 0; lone < lone_sessions; lone += 1) latencies.push(await latencyOfOne())
  return { per_second: queries / (load_ms / 1000), latency_ms: medianOf(latencies) }
}

async function latencyOfOne(): Promise<number> {
  const lone = await login()
  const latencies: number[] = []
  for (const end = performance.now() + alone_ms; performance.now() < end;) {
    const begun = performance.now()
    await ask(lone)
    latencies.push(performance.now() - begun)
  }
  await lone.end()
  return medianOf(latencies)
}

async function ask(client: pg.Client): Promise<void> {
  await client.query({ name: 'one', text: 'select $1::int + 1', values: [1] })
}

async function login(): Promise<pg.Client> {
  const { host, port, password, ca } = order
  const client = new pg.Client({ host, port, user: 'tsdbadmin', database: 'tsdb', password, ssl: { ca } })
  client.on('error', () => undefined)
  try {
    await client.connect()
    return client
  } catch (error) {
    await client.end().catch(() => undefined)
    throw error
  }
}
