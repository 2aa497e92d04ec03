// Bench: processor time for measuring many running services every ten seconds; and of the whole server with them. Over five
// minutes, because what costs most, a session in each of them, comes as rarely as that. There is no floor: not measuring
// costs nothing. `--services` chooses how many; each takes some 15 MB.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { openLocalProvider } from '#providers/local/local.ts'
import { printFigures } from './figures.ts'
import { createMany, withHowdah } from './howdah.ts'
import { inPlace } from './place.ts'
import { ownSecondsOf } from './processor.ts'

const flag = process.argv.indexOf('--services')
const services = flag < 0 ? 200 : Number(process.argv[flag + 1])
if (flag >= 0) process.argv.splice(flag, 2)
const rounds = 30
const round_ms = 10_000
const settle_ms = 90_000
const core_percent_goal = 3

await inPlace(1, async ({ folder }) => {
  await withHowdah(join(folder, 'howdah'), async (bench) => {
    const made = await createMany(bench, services)
    // Until the server has walked over all of them once and is at its routine.
    await pause(settle_ms)
    const provider = await openLocalProvider({
      directory: join(bench.data_dir, 'local'),
      host: '127.0.0.1',
      ports: { first: 20_000, last: 29_999 },
      postgres_directories: [],
      installation_id: readFileSync(join(bench.data_dir, 'installation-id'), 'utf8').trim(),
      log: () => undefined,
    })
    await provider.metrics(made)
    await pause(round_ms)
    for (let round = 0; round < 8; round += 1) await provider.metrics(made)
    const seconds = (rounds * round_ms) / 1000
    const server_before = ownSecondsOf(bench.pid)
    const before = process.cpuUsage()
    for (let round = 0; round < rounds; round += 1) {
      await pause(round_ms)
      if ((await provider.metrics(made)).size !== made.length) throw new Error('some services were not measured')
    }
    const { user, system } = process.cpuUsage(before)
    const measuring = ((user + system) / 1e6 / seconds) * 100
    const server = ((ownSecondsOf(bench.pid) - server_before) / seconds) * 100
    await provider.close()
    const goalFor = (percent: number) => ({ text: `< ${core_percent_goal} %`, reached: percent < core_percent_goal })
    printFigures(`metrics, ${made.length} running services over ${seconds} s`, [
      {
        what: 'measuring all of them every 10 s',
        ours: `${measuring.toFixed(2)} % of a core`,
        goal: goalFor(measuring),
      },
      {
        what: 'the whole server: passes, logins, measuring, writing',
        ours: `${server.toFixed(2)} % of a core`,
        goal: goalFor(server),
      },
    ])
  })
})
