// Bench: GET service throughput against a bare Fastify route, flatness to 100,000 services, and create throughput.
// Two servers (a small and a big store), the floor and the load are processes of their own and take turns, each warmed up
// before. Services are asked for at random, by many clients at once and by a lone one; what is claimed is the median of
// the ratios of single runs, in which all have met the same machine.
import { join } from 'node:path'
import pg from 'pg'
import { base_path } from '#contract/api.ts'
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
type Turns = { floor: number[]; few: number[]; many: number[] }

await inPlace(5, async ({ folder, description, runs }) => {
  await withPlainPostgres(join(folder, 'store'), async (store) => {
    await initdb(store)
    await startPlain(store)
    await withFilled(folder, store, 'small', small, (few_bench, few_ids) =>
      withFilled(folder, store, 'big', big, async (many_bench, many_ids) => {
        await withServer('http-floor.ts', { DATABASE_URL: urlOf(store, 'small') }, async (floor_url) => {
          const floor = { url: floor_url, token: '', paths: few_ids.map((id) => `/services/${id}`) }
          const asked = { floor, few: askedOf(few_bench, few_ids), many: askedOf(many_bench, many_ids) }
          const figures: Figure[] = []
          for (const clients of [32, 1]) figures.push(...figuresOf(clients, await takeTurns(asked, clients, runs)))
          printFigures(`http, ${runs} runs of ${load_seconds} s`, figures)
        })
        const per_second = await createThroughput(few_bench)
        printFigures(`create, ${creates} services, ${creates_at_once} at once, on ${description}`, [
          { what: 'POST → READY', ours: `${per_second.toFixed(1)} services/s` },
        ])
      }),
    )
  })
})

async function takeTurns(asked: Record<keyof Turns, Asked>, clients: number, runs: number): Promise<Turns> {
  const turns: Turns = { floor: [], few: [], many: [] }
  const names = ['floor', 'few', 'many'] as const
  for (let run = -1; run < runs; run += 1) {
    // Every other run the other way round, so that a machine that warms up or tires favours nobody.
    for (const name of run % 2 === 0 ? names : names.toReversed()) {
      const { url, token, paths } = asked[name]
      const per_second = await load(url, paths, token, clients)
      // Before the first run that counts, all have compiled their code and filled their caches.
      if (run >= 0) turns[name].push(per_second)
    }
  }
  return turns
}

function figuresOf(clients: number, { floor, few, many }: Turns): Figure[] {
  const who = clients === 1 ? 'a lone client' : `${clients} clients`
  const ratio = medianOf(few.map((value, run) => value / (floor[run] ?? Number.NaN)))
  const flatness = medianOf(many.map((value, run) => value / (few[run] ?? Number.NaN)))
  return [
    {
      what: `GET service, ${who}, ${small} stored`,
      floor: spread(floor, '/s'),
      ours: spread(few, '/s'),
      ratio,
      goal: atLeast(0.8, ratio),
    },
    {
      what: `GET service, ${who}, ${big} stored`,
      floor: `${medianOf(few).toFixed(0)} /s with ${small}`,
      ours: spread(many, '/s'),
      ratio: flatness,
      goal: atLeast(0.9, flatness),
    },
  ]
}

async function withFilled(
  folder: string,
  store: PlainPostgres,
  name: string,
  count: number,
  work: (bench: Bench, service_ids: readonly string[]) => Promise<void>,
): Promise<void> {
  const client = new pg.Client({ connectionString: urlOf(store, 'postgres') })
  await client.connect()
  await client.query(`create database ${name}`)
  await client.end()
  const url = urlOf(store, name)
  const use = async (bench: Bench) => await work(bench, await insertServices(url, bench.project_id, count))
  await withHowdah(join(folder, name), use, { DATABASE_URL: url })
}

function urlOf(store: PlainPostgres, database: string): string {
  return `postgres://postgres@localhost:${store.port}/${database}?host=${encodeURIComponent(store.folder)}`
}

function askedOf({ url, token, project_id }: Bench, service_ids: readonly string[]): Asked {
  const paths = service_ids.map((id) => `${base_path}/projects/${project_id}/services/${id}`)
  return { url: new URL(url).origin, token, paths }
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
  for (const service_id of ids) await bench.waitFor(service_id, 'gone')
  return creates / seconds
}
