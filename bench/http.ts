// Bench: GET service throughput against a bare Fastify route, flatness to 100,000 services, and create throughput.
// The server, the floor and the load are processes of their own and take turns, each warmed up before. How much a big store
// costs is seen within one process, which serves a small and a big one: two processes of the same code differ by a quarter.
// Services are asked for at random, by many clients at once and by a lone one; what is claimed is the median of the ratios
// of single runs, in which all have met the same machine.
import { join } from 'node:path'
import pg from 'pg'
import { base_path } from '#contract/api.ts'
import { openDb } from '#server/store/db.ts'
import { migrate } from '#server/store/migrate.ts'
import { ensureRegistration } from '#server/registration.ts'
import { atLeast, type Figure, medianOf, printFigures, spread } from './figures.ts'
import { type Bench, withHowdah } from './howdah.ts'
import { load, load_seconds, withServer } from './load.ts'
import { insertServices } from './many-services.ts'
import { inPlace } from './place.ts'
import { initdb, type PlainPostgres, startPlain, withPlainPostgres } from './plain-postgres.ts'

const small = 100
const big = 100_000
const creates = 16
const creates_at_once = 4

/** Who is asked, and for what. */
type Asked = { url: string; token: string; paths: readonly string[] }
/** What a store holds for those who ask. */
type Filled = { token: string; project_id: string; service_ids: readonly string[] }
const names = ['floor', 'ours', 'few', 'many'] as const
type Turns = Record<(typeof names)[number], number[]>

await inPlace(5, async ({ folder, description, runs }) => {
  await withPlainPostgres(join(folder, 'store'), async (store) => {
    await initdb(store)
    await startPlain(store)
    const [few_url, many_url] = [await newStore(store, 'small'), await newStore(store, 'big')]
    const many = await fill(many_url, big)
    const use = async (bench: Bench) => {
      const few = { ...bench, service_ids: await insertServices(few_url, bench.project_id, small) }
      const of_both = { STORES: `${few_url} ${many_url}` }
      await withServer('http-floor.ts', { DATABASE_URL: few_url }, (floor_url) =>
        withServer('http-stores.ts', of_both, async (urls) => {
          const [url_of_few = '', url_of_many = ''] = urls.split(' ')
          const asked = {
            floor: { url: floor_url, token: '', paths: few.service_ids.map((id) => `/services/${id}`) },
            ours: askedOf(new URL(bench.url).origin, few),
            few: askedOf(url_of_few, few),
            many: askedOf(url_of_many, many),
          }
          const figures: Figure[] = []
          for (const clients of [32, 1]) figures.push(...figuresOf(clients, await takeTurns(asked, clients, runs)))
          printFigures(`http, ${runs} runs of ${load_seconds} s`, figures)
        }),
      )
      const per_second = await createThroughput(bench)
      printFigures(`create, ${creates} services, ${creates_at_once} at once, on ${description}`, [
        { what: 'POST → READY', ours: `${per_second.toFixed(1)} services/s` },
      ])
    }
    await withHowdah(join(folder, 'howdah'), use, { DATABASE_URL: few_url })
  })
})

async function takeTurns(asked: Record<keyof Turns, Asked>, clients: number, runs: number): Promise<Turns> {
  const turns: Turns = { floor: [], ours: [], few: [], many: [] }
  for (let run = -1; run < runs; run += 1) {
    // Every other run the other way round, so that a machine that warms up or tires favours none.
    for (const name of run % 2 === 0 ? names : names.toReversed()) {
      const { url, token, paths } = asked[name]
      const per_second = await load(url, paths, token, clients)
      // Before the first run that counts, all have compiled their code and filled their caches.
      if (run >= 0) turns[name].push(per_second)
    }
  }
  return turns
}

function figuresOf(clients: number, { floor, ours, few, many }: Turns): Figure[] {
  const who = clients === 1 ? 'a lone client' : `${clients} clients`
  const ratio = medianOf(ours.map((value, run) => value / (floor[run] ?? Number.NaN)))
  const flatness = medianOf(many.map((value, run) => value / (few[run] ?? Number.NaN)))
  return [
    {
      what: `GET service, ${who}, ${small} stored`,
      floor: spread(floor, '/s'),
      ours: spread(ours, '/s'),
      ratio,
      goal: atLeast(0.8, ratio),
    },
    {
      what: `GET service, ${who}, ${big} stored`,
      floor: `${spread(few, '/s')} with ${small}`,
      ours: spread(many, '/s'),
      ratio: flatness,
      goal: atLeast(0.9, flatness),
    },
  ]
}

async function newStore(store: PlainPostgres, name: string): Promise<string> {
  const urlOf = (database: string) =>
    `postgres://postgres@localhost:${store.port}/${database}?host=${encodeURIComponent(store.folder)}`
  const client = new pg.Client({ connectionString: urlOf('postgres') })
  await client.connect()
  await client.query(`create database ${name}`)
  await client.end()
  return urlOf(name)
}

/** Without a server, which would pass over them all. */
async function fill(url: string, count: number): Promise<Filled> {
  const db = openDb(url)
  try {
    await migrate(db)
    const { first_token = '', project_id = '' } = await ensureRegistration(db, 'bench@example.com')
    return { token: first_token, project_id, service_ids: await insertServices(url, project_id, count) }
  } finally {
    await db.close()
  }
}

function askedOf(url: string, { token, project_id, service_ids }: Filled): Asked {
  return { url, token, paths: service_ids.map((id) => `${base_path}/projects/${project_id}/services/${id}`) }
}

/** Real services, from the request to READY, a few at a time; removed again afterwards. */
async function createThroughput(bench: Bench): Promise<number> {
  const ids: string[] = []
  const start = performance.now()
  const one = async () => {
    for (let made = 0; made < creates / creates_at_once; made += 1) {
      const { service_id } = await bench.createService('bench')
      ids.push(service_id)
      await bench.waitFor(service_id, 'READY')
    }
  }
  await Promise.all(Array.from({ length: creates_at_once }, one))
  const seconds = (performance.now() - start) / 1000
  for (const service_id of ids) await bench.remove(service_id)
  for (const service_id of ids) await bench.waitFor(service_id, 'removed')
  return creates / seconds
}
