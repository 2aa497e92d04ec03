// Bench: memory of the server, and processor time of the server, its embedded store and 20 idle services over 60 s.
// There is no floor: an idle machine costs nothing. The services are left alone, so what is measured is our own doing.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { printFigures } from './figures.ts'
import { withHowdah } from './howdah.ts'
import { inPlace } from './place.ts'

const services = 20
const settle_seconds = 15
const seconds = 60
const ticks_per_second = 100
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
      const percent = (a: number, b: number) => ((b - a) / ticks_per_second / seconds) * 100
      const server = percent(before.server_ticks, after.server_ticks)
      const store = percent(before.store_ticks, after.store_ticks)
      const databases = percent(before.database_ticks, after.database_ticks)
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
  const memory = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${server_pid}/status`, 'utf8'))?.[1]
  return {
    server_mb: Number(memory) / 1024,
    server_ticks: ticksOf(String(server_pid)),
    store_ticks: ticksOfPostgres(join(data_dir, 'store')),
    database_ticks: ticksOfPostgres(join(data_dir, 'local')),
  }
}

/** Of the postmasters whose command line names the folder, and of their children. */
function ticksOfPostgres(folder: string): number {
  const pids = readdirSync('/proc').filter((name) => /^\d+$/.test(name))
  const postmasters = new Set(pids.filter((pid) => isPostmasterOf(folder, fileOf(pid, 'cmdline').split('\0'))))
  return pids
    .filter((pid) => postmasters.has(pid) || postmasters.has(fieldsOf(pid)[1] ?? ''))
    .reduce((sum, pid) => sum + ticksOf(pid), 0)
}

function isPostmasterOf(folder: string, [program = '', ...words]: string[]): boolean {
  return program.endsWith('/postgres') && words.some((word) => word.startsWith(folder))
}

/** User and system time, with that of children that have ended. */
function ticksOf(pid: string): number {
  return fieldsOf(pid)
    .slice(11, 15)
    .reduce((sum, field) => sum + Number(field), 0)
}

function fieldsOf(pid: string): string[] {
  const stat = fileOf(pid, 'stat')
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

function fileOf(pid: string, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, 'utf8')
  } catch {
    return ''
  }
}
