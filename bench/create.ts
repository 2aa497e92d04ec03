// Bench: create → READY as a polling client sees it, against plain initdb + pg_ctl start + first login.
// Floor and ours take turns in one run, with the same binaries on the same file system.
import { join } from 'node:path'
import { atMost, medianOf, printFigures, spread, timed } from './figures.ts'
import { type Bench, withHowdah } from './howdah.ts'
import { inPlace } from './place.ts'
import { initdb, loginPlain, startPlain, withPlainPostgres } from './plain-postgres.ts'

await inPlace(20, async ({ folder, description, runs }) => {
  await withHowdah(join(folder, 'howdah'), async (bench) => {
    // The first of each pays for cold caches and, on our side, for the template.
    await floorOnce(folder)
    await oursOnce(bench)
    const floor: number[] = []
    const ours: number[] = []
    for (let run = 0; run < runs; run += 1) {
      floor.push(await floorOnce(folder))
      ours.push(await oursOnce(bench))
    }
    const ratio = medianOf(ours) / medianOf(floor)
    printFigures(`create, ${runs} runs on ${description}`, [
      {
        what: 'create → READY',
        floor: spread(floor, 'ms'),
        ours: spread(ours, 'ms'),
        ratio,
        goal: atMost(0.25, ratio),
      },
    ])
  })
})

async function floorOnce(folder: string): Promise<number> {
  return await withPlainPostgres(join(folder, 'plain'), (it) =>
    timed(async () => {
      await initdb(it)
      await startPlain(it)
      await loginPlain(it)
    }),
  )
}

async function oursOnce(bench: Bench): Promise<number> {
  let service_id = ''
  const took_ms = await timed(async () => {
    service_id = (await bench.createService('bench')).service_id
    await bench.waitFor(service_id, 'READY')
  })
  await bench.remove(service_id)
  await bench.waitFor(service_id, 'removed')
  return took_ms
}
