// Bench: authenticated GET service against the same route without authentication, in one run. The difference is what
// verifying the credential, counting the request and checking the role cost.
import { join } from 'node:path'
import { base_path } from '#contract/api.ts'
import { openDb } from '#server/db.ts'
import { migrate } from '#server/migrate.ts'
import { ensureRegistration } from '#server/registration.ts'
import { atLeast, medianOf, printFigures, spread } from './figures.ts'
import { load, load_seconds, withServer } from './load.ts'
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
    await withServer('auth-server.ts', { DATABASE_URL: url, AUTHENTICATE: 'no' }, (floor_url) =>
      withServer('auth-server.ts', { DATABASE_URL: url, AUTHENTICATE: 'yes' }, async (ours_url) => {
        const floor: number[] = []
        const ours: number[] = []
        for (let run = 0; run < runs; run += 1) {
          floor.push(await load(floor_url + path, ''))
          ours.push(await load(ours_url + path, token))
        }
        const ratio = medianOf(ours) / medianOf(floor)
        printFigures(`auth, ${runs} runs of ${load_seconds} s`, [
          {
            what: 'GET service with a personal access token',
            floor: spread(floor, '/s'),
            ours: spread(ours, '/s'),
            ratio,
            goal: atLeast(0.85, ratio),
          },
        ])
      }),
    )
  })
})

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
