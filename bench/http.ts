// Bench: GET service throughput against a bare Fastify route, flatness to 100,000 services, and create throughput.
// Two servers (a small and a big store), the floor and the load are processes of their own and take turns.
import { join } from 'node:path'
import pg from 'pg'
import { atLeast, medianOf, printFigures, spread } from './figures.ts'
import { type Bench, withHowdah } from './howdah.ts'
import { load, load_seconds, withServer } from './load.ts'
import { insertServices } from './many-services.ts'
import { inPlace } from './place.ts'
import { initdb, type PlainPostgres, startPlain, withPlainPostgres } from './plain-postgres.ts'

const small = 100
const big = 100_000
const creates = 16
const creates_at_once = 4

await inPlace(5, async ({ folder, description, runs }) => {
  await withPlainPostgres(join(folder, 'store'), async (store) => {
    await initdb(store)
    await startPlain(store)
    await withFilled(folder, store, 'small', small, (few, few_id) =>
      withFilled(folder, store, 'big', big, async (many, many_id) => {
        await withServer('http-floor.ts', { DATABASE_URL: urlOf(store, 'small') }, async (floor_url) => {
          const floor: number[] = []
          const ours: number[] = []
          const ours_big: number[] = []
          for (let run = 0; run < runs; run += 1) {
            const turns = [
              async () => floor.push(await load(`${floor_url}/services/${few_id}`, '')),
              async () => ours.push(await load(serviceUrl(few, few_id), few.token)),
              async () => ours_big.push(await load(serviceUrl(many, many_id), many.token)),
            ]
            // Every other run the other way round, so that a machine that warms up or tires favours nobody.
            for (const turn of run % 2 === 0 ? turns : turns.toReversed()) await turn()
          }
          const ratio = medianOf(ours) / medianOf(floor)
          const flatness = medianOf(ours_big) / medianOf(ours)
          printFigures(`http, ${runs} runs of ${load_seconds} s`, [
            {
              what: `GET service, ${small} stored`,
              floor: spread(floor, '/s'),
              ours: spread(ours, '/s'),
              ratio,
              goal: atLeast(0.8, ratio),
            },
            {
              what: `GET service, ${big} stored`,
              floor: `${medianOf(ours).toFixed(0)} /s with ${small}`,
              ours: spread(ours_big, '/s'),
              ratio: flatness,
              goal: atLeast(0.9, flatness),
            },
          ])
        })
        const per_second = await createThroughput(few)
        printFigures(`create, ${creates} services, ${creates_at_once} at once, on ${description}`, [
          { what: 'POST → READY', ours: `${per_second.toFixed(1)} services/s` },
        ])
      }),
    )
  })
})

async function withFilled(
  folder: string,
  store: PlainPostgres,
  name: string,
  count: number,
  work: (bench: Bench, service_id: string) => Promise<void>,
): Promise<void> {
  const client = new pg.Client({ connectionString: urlOf(store, 'postgres') })
  await client.connect()
  await client.query(`create database ${name}`)
  await client.end()
  const url = urlOf(store, name)
  const use = async (bench: Bench) => {
    const [service_id = ''] = await insertServices(url, bench.project_id, count)
    await work(bench, service_id)
  }
  await withHowdah(join(folder, name), use, { DATABASE_URL: url })
}

function urlOf(store: PlainPostgres, database: string): string {
  return `postgres://postgres@localhost:${store.port}/${database}?host=${encodeURIComponent(store.folder)}`
}

function serviceUrl(bench: Bench, service_id: string): string {
  return `${bench.url}/projects/${bench.project_id}/services/${service_id}`
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
