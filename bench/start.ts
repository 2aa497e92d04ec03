// Bench: start of a PAUSED service → READY as a polling client sees it, against `pg_ctl -w start` alone.
// Floor and ours take turns in one run, with the same binaries on the same file system.
// `--after-kill --services 200`: what a new server finds and says after a kill of everything (after-kill.ts).
import { join } from 'node:path'
import { afterKill } from './after-kill.ts'
import { atMost, medianOf, printFigures, spread, timed } from './figures.ts'
import { withHowdah } from './howdah.ts'
import { inPlace } from './place.ts'
import { initdb, startPlain, stopPlain, withPlainPostgres } from './plain-postgres.ts'

await inPlace(20, async (place) => {
  const { folder, description, runs, after_kill } = place
  if (after_kill) return await afterKill(place)
  await withHowdah(join(folder, 'howdah'), async (bench) => {
    await withPlainPostgres(join(folder, 'plain'), async (plain) => {
      await initdb(plain)
      const { service_id } = await bench.createService('bench')
      await bench.waitFor(service_id, 'READY')
      const floor: number[] = []
      const ours: number[] = []
      for (let run = 0; run < runs; run += 1) {
        floor.push(await timed(() => startPlain(plain)))
        await stopPlain(plain)
        await bench.post(service_id, 'stop')
        await bench.waitFor(service_id, 'PAUSED')
        ours.push(
          await timed(async () => {
            await bench.post(service_id, 'start')
            await bench.waitFor(service_id, 'READY')
          }),
        )
      }
      const ratio = medianOf(ours) / medianOf(floor)
      printFigures(`start, ${runs} runs on ${description}`, [
        { what: 'start → READY', floor: spread(floor, 'ms'), ours: spread(ours, 'ms'), ratio, goal: atMost(2, ratio) },
      ])
    })
  })
})
