// The floor of the failover bench: a primary and a standby made by hand, and a person who knows at the very moment of the
// death what to do: the standby is promoted as it runs, and its clients know where it is. No Howdah, the same binaries.
import { execFileSync, spawn } from 'node:child_process'
import { cpSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { sharedMemoryOf } from '#test/shared-memory.ts'
import { timed } from './figures.ts'
import {
  bin,
  initdb,
  openPlain,
  type PlainPostgres,
  server_user,
  startPlain,
  withPlainPostgres,
} from './plain-postgres.ts'

const poll_every_ms = 2

/** Milliseconds from the kill to the first write that was acknowledged. */
export async function floorFailover(folder: string): Promise<number> {
  return await withPlainPostgres(join(folder, 'floor'), async (primary) => {
    await initdb(primary)
    // What it leaves of its memory when it is killed goes with its folder.
    const memory = 'dynamic_shared_memory_type=mmap'
    await startPlain(primary, `-c wal_level=replica -c wal_log_hints=on -c ${memory}`)
    await ask(primary, 'create table kept (number int)')
    return await withPlainPostgres(join(folder, 'floor-standby'), async (other) => {
      const standby = { ...other, port: primary.port }
      await copy(primary, standby)
      await start(standby, `host=${primary.folder} port=${primary.port} user=postgres`)
      await until(async () => (await ask(primary, 'select count(*) from pg_stat_replication')) === '1')
      // The segment by which PostgreSQL knows that it still runs stays after such a death.
      const left = sharedMemoryOf([pidAt(primary.data) ?? []].flat())
      const ms = await timed(async () => {
        killAt(primary.data, 'SIGKILL')
        await ask(standby, 'select pg_promote(false)')
        await until(async () => (await ask(standby, 'select pg_is_in_recovery()')) === 'false')
        await ask(standby, 'insert into kept values (1)')
      })
      left.remove()
      return ms
    })
  })
}

async function copy(primary: PlainPostgres, standby: PlainPostgres): Promise<void> {
  const client = await openPlain(primary)
  await client.query(`select pg_backup_start('floor', true)`)
  cpSync(primary.data, standby.data, { recursive: true, filter: (path) => !path.endsWith('postmaster.pid') })
  const { rows } = await client.query<{ labelfile: string }>('select labelfile from pg_backup_stop(false)')
  writeFileSync(join(standby.data, 'backup_label'), rows[0]?.labelfile ?? '')
  writeFileSync(join(standby.data, 'standby.signal'), '')
  await client.end()
  execFileSync('chmod', ['-R', 'u=rwX,go=', standby.folder])
  const { uid, gid } = server_user
  if (uid !== undefined) execFileSync('chown', ['-R', `${uid}:${gid}`, standby.folder])
}

/** A standby, at its unix socket. */
async function start(it: PlainPostgres, primary_conninfo: string): Promise<void> {
  const settings = {
    unix_socket_directories: it.folder,
    listen_addresses: '',
    port: String(it.port),
    primary_conninfo,
    // Of Howdah's own standbys: else one that asks a moment too early waits for five seconds.
    wal_retrieve_retry_interval: '100ms',
    recovery_init_sync_method: 'syncfs',
  }
  const words = Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
  spawn(join(bin, 'postgres'), ['-D', it.data, ...words], {
    ...server_user,
    env: {},
    stdio: 'ignore',
    detached: true,
  }).unref()
  await until(async () => lineOf(it.data, 7) === 'ready')
}

async function until(poll: () => Promise<boolean>): Promise<void> {
  while (!(await poll())) await pause(poll_every_ms)
}

async function ask(it: PlainPostgres, sql: string): Promise<string> {
  const client = await openPlain(it)
  try {
    const { rows } = await client.query<unknown[]>({ text: sql, rowMode: 'array' })
    return String(rows[0]?.[0])
  } finally {
    await client.end()
  }
}

function killAt(data: string, signal: NodeJS.Signals): void {
  const pid = pidAt(data)
  if (pid !== undefined) process.kill(pid, signal)
}

function pidAt(data: string): number | undefined {
  const line = lineOf(data, 0)
  return line === undefined ? undefined : Number(line)
}

function lineOf(data: string, line: number): string | undefined {
  try {
    return readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[line]?.trim()
  } catch {
    return undefined
  }
}
