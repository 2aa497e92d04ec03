// Bench: authenticated GET service against the same route without authentication, in one run. The difference is what
// verifying the credential, counting the request and checking the role cost. Processor time a request is the steadier
// figure of the two where the machine has other work.
import { join } from 'node:path'
import { base_path } from '#contract/api.ts'
import { openDb } from '#server/store/db.ts'
import { migrate } from '#server/store/migrate.ts'
import { listUsers } from '#server/identity/store.ts'
import { ensureRegistration } from '#server/registration.ts'
import { newAccessToken, openKeyPlace } from './access-token.ts'
import { atLeast, medianOf, printFigures, spread } from './figures.ts'
import { load, load_seconds, withServer } from './load.ts'
import { insertServices } from './many-services.ts'
import { inPlace } from './place.ts'
import { initdb, startPlain, withPlainPostgres } from './plain-postgres.ts'
import { ownSecondsOf } from './processor.ts'

const services = 100

await inPlace(5, async ({ folder, runs }) => {
  await withPlainPostgres(join(folder, 'store'), async (store) => {
    await initdb(store)
    await startPlain(store)
    const url = `postgres://postgres@localhost:${store.port}/postgres?host=${encodeURIComponent(store.folder)}`
    const { token, access_token, path } = await fill(url, folder)
    await withServer('auth-server.ts', { DATABASE_URL: url, FOLDER: folder }, async (urls, pid) => {
      const [floor_url = '', ours_url = ''] = urls.split(' ')
      const floor: Turn[] = []
      const by_token: Turn[] = []
      const by_login: Turn[] = []
      const round = async () => {
        floor.push(await turn(floor_url, path, pid, ''))
        by_token.push(await turn(ours_url, path, pid, token))
        by_login.push(await turn(ours_url, path, pid, access_token))
      }
      // The code has been compiled before anything counts.
      await round()
      for (const turns of [floor, by_token, by_login]) turns.length = 0
      for (let run = 0; run < runs; run += 1) await round()
      printFigures(`auth, ${runs} runs of ${load_seconds} s`, [
        ...figuresOf('a personal access token', floor, by_token),
        ...figuresOf('an access token (JWT)', floor, by_login),
      ])
    })
  })
})

type Turn = { per_second: number; cost_us: number }

function figuresOf(credential: string, floor: readonly Turn[], ours: readonly Turn[]) {
  const rates = { floor: floor.map((turn) => turn.per_second), ours: ours.map((turn) => turn.per_second) }
  const costs = { floor: floor.map((turn) => turn.cost_us), ours: ours.map((turn) => turn.cost_us) }
  const ratio = medianOf(rates.ours) / medianOf(rates.floor)
  const cost_ratio = medianOf(costs.floor) / medianOf(costs.ours)
  return [
    {
      what: `GET service with ${credential}`,
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
  ]
}

async function turn(url: string, path: string, pid: number, token: string): Promise<Turn> {
  const before = ownSecondsOf(pid)
  const per_second = await load(url, [path], token)
  return { per_second, cost_us: ((ownSecondsOf(pid) - before) * 1e6) / (per_second * load_seconds) }
}

type Filled = { token: string; access_token: string; path: string }

async function fill(url: string, folder: string): Promise<Filled> {
  const db = openDb(url)
  try {
    await migrate(db)
    const { first_token = '', project_id = '' } = await ensureRegistration(db, 'bench@example.com')
    const [service_id = ''] = await insertServices(url, project_id, services)
    const [user] = await listUsers(db)
    const access_token = await newAccessToken(await openKeyPlace(db, folder), user?.id ?? 0)
    return { token: first_token, access_token, path: `${base_path}/projects/${project_id}/services/${service_id}` }
  } finally {
    await db.close()
  }
}
