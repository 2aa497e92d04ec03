// Bench: memory of the server, and processor time of the server, its embedded store and 20 idle services over 60 s.
// There is no floor: an idle machine costs nothing. The services are left alone, so what is measured is our own doing.
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { printFigures } from './figures.ts'
import { withHowdah } from './howdah.ts'
import { inPlace } from './place.ts'
import { memoryMbOf, secondsOf, secondsOfPostgres } from './processor.ts'

const services = 20
const settle_seconds = 15
const seconds = 60
const memory_mb_goal = 150
const core_percent_goal = 1

await inPlace(1, async ({ folder, runs }) => {
  await withHowdah(join(folder, 'howdah'), async (bench) => {
    for (let made = 0; made < services; made += 1) {
      const { service_id } = await bench.createService(`idle ${made}`)
      await bench.waitFor(service_id, 'READY')
    }
    for (let run = 0; run < runs; run += 1) {
      await pause(settle_seconds * 1000)
      const before = measure(bench.pid, bench.data_dir)
      await pause(seconds * 1000)
      const after = measure(bench.pid, bench.data_dir)
      const percent = (a: number, b: number) => ((b - a) / seconds) * 100
      const server = percent(before.server_seconds, after.server_seconds)
      const store = percent(before.store_seconds, after.store_seconds)
      const databases = percent(before.database_seconds, after.database_seconds)
      const all = server + store + databases
      printFigures(`idle, ${services} services over ${seconds} s`, [
        {
          what: 'server, resident memory',
          ours: `${after.server_mb.toFixed(0)} MB`,
          goal: { text: `< ${memory_mb_goal} MB`, reached: after.server_mb < memory_mb_goal },
        },
        { what: 'server, processor', ours: `${server.toFixed(2)} % of a core` },
        { what: 'embedded metadata store, processor', ours: `${store.toFixed(2)} % of a core` },
        { what: `${services} services, processor`, ours: `${databases.toFixed(2)} % of a core` },
        {
          what: 'all together, processor',
          ours: `${all.toFixed(2)} % of a core`,
          goal: { text: `< ${core_percent_goal} %`, reached: all < core_percent_goal },
        },
      ])
    }
  })
})

function measure(server_pid: number, data_dir: string) {
  return {
    server_mb: memoryMbOf(server_pid),
    server_seconds: secondsOf(server_pid),
    store_seconds: secondsOfPostgres(join(data_dir, 'store')),
    database_seconds: secondsOfPostgres(join(data_dir, 'local')),
  }
}
