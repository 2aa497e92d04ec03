// Bench: how much is lost with a machine that is lost at a random moment. For an hour (`--minutes 60`) three services acknowledge rows:
// one all the time, one seldom, one in bursts. At random moments everything that writes to the repository is stopped and the repository is
// copied as it is then; each copy is restored on another machine, which is namespaces of its own, and the rows there are compared with those
// acknowledged by then. Restores go on beside the writing and for a sixth of the time after it; copies for which no time is left are
// counted. The result is printed at the end of the process, whatever ends it. The folder should share blocks: each copy is a whole one.
import { execFileSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { readdirSync, readFileSync, rmSync } from 'node:fs'
import { basename, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type pg from 'pg'
import { startHowdah } from '#test/e2e/howdah.ts'
import { initRepository, restore, untilCopied } from './copied.ts'
import { login } from './fork-parent.ts'
import { atMost, printFigures, say, spread } from './figures.ts'
import { type Bench, withHowdah } from './howdah.ts'
import { inPlace } from './place.ts'

/** As without the setting. */
const lag_seconds = 60
/** Between two losses, on average. */
const loss_every_ms = 25_000
/** Together more than a WAL file. */
const burst_rows = 20
const burst_row_bytes = 500_000
const recovery_ms_max = 180_000

type Writer = { service_id: string; sockets: string; port: number; kind: Kind; acknowledged_ms: number[] }
type Loss = { at_ms: number; copy: string }
/** oldest: the age of the oldest acknowledged row that is lost, 0 without one. late: those older than the lag. holes: with a later row that came back. */
type Found = { oldest_seconds: number; late: number; holes: number }
type Result = { found: Found[]; failed: number; waiting: Loss[] }

await inPlace(1, async ({ folder, description, minutes }) => {
  const target = join(folder, 'repository')
  const env = { HOWDAH_BACKUP_TO: `file://${target}`, HOWDAH_BACKUP_LAG: String(lag_seconds) }
  await withHowdah(
    join(folder, 'howdah'),
    async (bench) => {
      const key = await initRepository(bench, target)
      const writers = [
        await newWriter(bench, 'steady', every(100)),
        await newWriter(bench, 'quiet', every(30_000)),
        await newWriter(bench, 'bursty', bursts(240_000)),
      ]
      say('the services are copied for the first time')
      for (const writer of writers) await untilCopied(bench, writer)
      say(`losses begin, for ${minutes} minutes`)
      const result: Result = { found: [], failed: 0, waiting: [] }
      const title = `losses for ${minutes} minutes, on ${description}`
      process.prependOnceListener('exit', () => printResult(title, result))
      const end = new AbortController()
      const writing = writers.map((writer) => write(writer, end.signal))
      const losing_ends = performance.now() + minutes * 60_000
      const last_restore = losing_ends + minutes * 10_000
      const restoring = restoreSome(result, { writers, key, folder, until_ms: last_restore, signal: end.signal })
      for (let at = 1; ; at += 1) {
        await pause(Math.random() * 2 * loss_every_ms)
        if (performance.now() > losing_ends) break
        result.waiting.push(lose(bench.pid, target, join(folder, `lost-${at}`)))
      }
      end.abort()
      await Promise.all(writing)
      say(`${result.waiting.length} losses are left to restore`)
      await restoring
    },
    env,
  )
})

/** How long until the next row, and how large each is. */
type Kind = () => { rest_ms: number; rows: number; bytes: number }

function every(rest_ms: number): Kind {
  return () => ({ rest_ms: Math.random() * 2 * rest_ms, rows: 1, bytes: 10 })
}

function bursts(rest_ms: number): Kind {
  return () => ({ rest_ms: Math.random() * 2 * rest_ms, rows: burst_rows, bytes: burst_row_bytes })
}

async function newWriter(bench: Bench, name: string, kind: Kind): Promise<Writer> {
  const { service_id, endpoint } = await bench.createService(name, { cpu_millis: 'shared', memory_gbs: 'shared' })
  await bench.waitFor(service_id, 'READY')
  const sockets = join(bench.data_dir, 'local', 'run', service_id)
  const writer = { service_id, sockets, port: endpoint?.port ?? 0, kind, acknowledged_ms: [] }
  const client = await login(writer)
  await client.query('create table acknowledged (n int primary key, filler bytea)')
  await client.end()
  return writer
}

/** A row's number is its place among the acknowledged ones; one that was refused may be there all the same. */
async function write(writer: Writer, signal: AbortSignal): Promise<void> {
  let client: pg.Client | undefined
  while (!signal.aborted) {
    const { rest_ms, rows, bytes } = writer.kind()
    try {
      client ??= await login(writer)
      for (let row = 0; row < rows; row += 1) {
        const values = [writer.acknowledged_ms.length, randomBytes(bytes)]
        await client.query('insert into acknowledged values ($1, $2) on conflict do nothing', values)
        writer.acknowledged_ms.push(Date.now())
      }
    } catch (error) {
      say(`a row was refused: ${String(error)}`)
      client = undefined
    }
    await pause(rest_ms, undefined, { signal }).catch(() => undefined)
  }
  await client?.end()
}

/** The repository at one moment: what makes backups stands still while it is copied. */
function lose(server: number, target: string, copy: string): Loss {
  const at_ms = Date.now()
  process.kill(server, 'SIGSTOP')
  const stopped = [server, ...resticsOf(target).filter((pid) => signalled(pid, 'SIGSTOP'))]
  try {
    execFileSync('cp', ['--archive', '--reflink=auto', target, copy])
  } finally {
    for (const pid of stopped) signalled(pid, 'SIGCONT')
  }
  say(`${basename(copy)}: copied in ${Date.now() - at_ms} ms, while restic ran: ${stopped.length - 1}`)
  return { at_ms, copy }
}

function resticsOf(target: string): number[] {
  const isOne = (pid: number) => {
    try {
      if (readFileSync(`/proc/${pid}/comm`, 'utf8') !== 'restic\n') return false
      return readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0').includes(`RESTIC_REPOSITORY=${target}`)
    } catch {
      // It has ended.
      return false
    }
  }
  return readdirSync('/proc').map(Number).filter(Number.isInteger).filter(isOne)
}

function signalled(pid: number, signal: NodeJS.Signals): boolean {
  try {
    return process.kill(pid, signal)
  } catch {
    return false
  }
}

type Restoring = { writers: readonly Writer[]; key: string; folder: string; until_ms: number; signal: AbortSignal }

/** One at a time, in any order. signal: no more are to come. */
async function restoreSome(result: Result, { until_ms, signal, ...known }: Restoring): Promise<void> {
  const { found, waiting } = result
  while (performance.now() < until_ms && !(signal.aborted && waiting.length === 0)) {
    const [loss] = waiting.splice(Math.floor(Math.random() * waiting.length), 1)
    if (loss === undefined) {
      await pause(500)
      continue
    }
    const name = basename(loss.copy)
    try {
      const one = await compare(loss, known)
      found.push(one)
      say(
        `${name}: lost up to ${one.oldest_seconds.toFixed(1)} s; older than the lag: ${one.late}; holes: ${one.holes}`,
      )
      rmSync(loss.copy, { recursive: true, force: true })
    } catch (error) {
      result.failed += 1
      say(`${name} could not be restored: ${String(error)}`)
    }
  }
}

/**
 * Words before a command. Processes, ports, shared memory and control groups of the lost machine are not seen there; all of it ends with its first process, and
 * that with ours. Mounts of others are left, else they could not be unmounted.
 */
function elsewhere(folder: string): string[] {
  const spaces = '--net --ipc --mount --pid --fork --kill-child --mount-proc'.split(' ')
  const script = `awk -v own="$0" '$1 ~ "^/dev/loop" && index(own, $2) != 1 { print $2 }' /proc/mounts | xargs -r umount --lazy
    umount --recursive --lazy /sys/fs/cgroup; mount -t tmpfs tmpfs /dev/shm; ip link set lo up; "$@"; exit`
  return ['setpriv', '--pdeathsig', 'KILL', 'nice', '-n', '5', 'unshare', ...spaces, '--', 'sh', '-c', script, folder]
}

async function compare(
  { at_ms, copy }: Loss,
  { writers, key, folder }: Pick<Restoring, 'writers' | 'key' | 'folder'>,
): Promise<Found> {
  const data_dir = join(folder, 'back')
  const config_home = `${data_dir}-config`
  const prefix = elsewhere(folder)
  try {
    await restore(copy, { data_dir, key, prefix })
    const server = await startHowdah(['--data-dir', data_dir], { XDG_CONFIG_HOME: config_home }, prefix)
    try {
      const all = writers.map(async ({ service_id, acknowledged_ms }) => {
        const back = await rowsIn(join(data_dir, 'local', 'run', service_id))
        return lossOf(acknowledged_ms, back, at_ms)
      })
      const each = await Promise.all(all)
      return {
        oldest_seconds: Math.max(...each.map(({ oldest_seconds }) => oldest_seconds)),
        late: each.reduce((sum, { late }) => sum + late, 0),
        holes: each.reduce((sum, { holes }) => sum + holes, 0),
      }
    } finally {
      await server.end('SIGKILL')
    }
  } finally {
    for (const one of [data_dir, config_home]) rmSync(one, { recursive: true, force: true, maxRetries: 20 })
  }
}

/** The rows of a service that recovers. */
async function rowsIn(sockets: string): Promise<Set<number>> {
  for (const deadline = performance.now() + recovery_ms_max; ; await pause(200)) {
    let client: pg.Client | undefined
    try {
      const name = readdirSync(sockets).find((one) => /^\.s\.PGSQL\.\d+$/.test(one)) ?? ''
      client = await login({ sockets, port: Number(name.slice('.s.PGSQL.'.length)) })
      const state = await client.query<{ recovers: boolean }>('select pg_is_in_recovery() as recovers')
      if (state.rows[0]?.recovers !== false) throw new Error('it recovers')
      const { rows } = await client.query<{ n: number }>('select n from acknowledged')
      return new Set(rows.map(({ n }) => n))
    } catch (error) {
      if (performance.now() > deadline) throw error
    } finally {
      await client?.end().catch(() => undefined)
    }
  }
}

function lossOf(acknowledged_ms: readonly number[], back: ReadonlySet<number>, at_ms: number): Found {
  const newest = Math.max(...back)
  const lost = acknowledged_ms.flatMap((row_ms, n) => (row_ms <= at_ms && !back.has(n) ? [{ n, row_ms }] : []))
  const ages = lost.map(({ row_ms }) => (at_ms - row_ms) / 1000)
  return {
    oldest_seconds: Math.max(0, ...ages),
    late: ages.filter((age) => age > lag_seconds).length,
    holes: lost.filter(({ n }) => n < newest).length,
  }
}

function printResult(title: string, { found, failed, waiting }: Result): void {
  const ages = found.map(({ oldest_seconds }) => oldest_seconds).toSorted((one, other) => one - other)
  // Of fewer than a hundred losses the 99th percentile is the worst.
  const p99 = ages[Math.ceil(ages.length * 0.99) - 1] ?? Infinity
  const sumOf = (name: 'late' | 'holes') => found.reduce((sum, one) => sum + one[name], 0)
  const what = 'age of the oldest acknowledged row that is lost'
  printFigures(title, [
    { what: 'losses restored', ours: `${found.length} of ${found.length + failed + waiting.length}` },
    { what: 'losses that could not be restored', ours: String(failed), goal: atMost(0, failed) },
    { what: `${what}, --backup-lag ${lag_seconds}`, ours: found.length === 0 ? 'none restored' : spread(ages, 's') },
    { what: `${what}, 99th percentile`, ours: `${p99.toFixed(1)} s`, goal: atMost(lag_seconds, p99, ' s') },
    { what: 'rows lost that were older than that', ours: String(sumOf('late')), goal: atMost(0, sumOf('late')) },
    { what: 'rows lost before a row that came back', ours: String(sumOf('holes')), goal: atMost(0, sumOf('holes')) },
  ])
}
