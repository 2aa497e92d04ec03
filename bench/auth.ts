// Bench: authenticated GET service against the same route without authentication, in one run. The difference is what
// verifying the credential, counting the request and checking the role cost. Processor time a request is the steadier
// figure of the two where the machine has other work.
import { join } from 'node:path'
import { base_path } from '#contract/api.ts'
import { openDb } from '#server/db.ts'
import { migrate } from '#server/migrate.ts'
import { ensureRegistration } from '#server/registration.ts'
import { atLeast, medianOf, printFigures, spread } from './figures.ts'
import { load, load_seconds, processorMs, withServer } from './load.ts'
import { insertServices } from './many-services.ts'
import { inPlace } from './place.ts'
import { initdb, startPlain, withPlainPostgres } from './plain-postgres.ts'

const services = 100

await inPlace(5, async ({ folder, runs }) => {
  await withPlainPostgres(join(folder, 'store'), async (store) => {
    await initdb(store)
    await startPlain(store)
    const url = `postgres://postgres@localhost:${store.port}/postgres?host=${encodeURIComponent(store.folder)}`
    const { token, path } = await fill(url)
    await withServer('auth-server.ts', { DATABASE_URL: url, AUTHENTICATE: 'no' }, (floor_url, floor_pid) =>
      withServer('auth-server.ts', { DATABASE_URL: url, AUTHENTICATE: 'yes' }, async (ours_url, ours_pid) => {
        const floor: Turn[] = []
        const ours: Turn[] = []
        // Both have compiled their code before anything counts.
        await turn(floor_url + path, floor_pid, '')
        await turn(ours_url + path, ours_pid, token)
        for (let run = 0; run < runs; run += 1) {
          floor.push(await turn(floor_url + path, floor_pid, ''))
          ours.push(await turn(ours_url + path, ours_pid, token))
        }
        const rates = { floor: floor.map((turn) => turn.per_second), ours: ours.map((turn) => turn.per_second) }
        const costs = { floor: floor.map((turn) => turn.cost_us), ours: ours.map((turn) => turn.cost_us) }
        const ratio = medianOf(rates.ours) / medianOf(rates.floor)
        const cost_ratio = medianOf(costs.floor) / medianOf(costs.ours)
        printFigures(`auth, ${runs} runs of ${load_seconds} s`, [
          {
            what: 'GET service with a personal access token',
            floor: spread(rates.floor, '/s'),
            ours: spread(rates.ours, '/s'),
            ratio,
            goal: atLeast(0.85, ratio),
          },
          {
            what: 'processor time a request',
            floor: spread(costs.floor, 'µs'),
            ours: spread(costs.ours, 'µs'),
            ratio: cost_ratio,
            goal: atLeast(0.85, cost_ratio),
          },
        ])
      }),
    )
  })
})

type Turn = { per_second: number; cost_us: number }

async function turn(url: string, pid: number, token: string): Promise<Turn> {
  const before_ms = processorMs(pid)
  const per_second = await load(url, token)
  return { per_second, cost_us: ((processorMs(pid) - before_ms) * 1000) / (per_second * load_seconds) }
}

async function fill(url: string): Promise<{ token: string; path: string }> {
  const db = openDb(url)
  try {
    await migrate(db)
    const { first_token = '', project_id = '' } = await ensureRegistration(db)
    const [service_id = ''] = await insertServices(url, project_id, services)
    return { token: first_token, path: `${base_path}/projects/${project_id}/services/${service_id}` }
  } finally {
    await db.close()
  }
}
