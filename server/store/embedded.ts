// The embedded metadata store: a small PostgreSQL in the data directory, for installations without a DATABASE_URL.
// 1. It is a daemon like every other database here: it outlives the server and is adopted by the next one.
//    Only `stop --all` ends it (stopMetadataStore).
// 2. It has no network address: one unix socket in a folder that only its own user and the server can enter.
// 3. Several servers may ensure it at once: PostgreSQL's own lock lets one start win, and the others find it running.
// 4. Killed, it is started again within two seconds by any server that watches it.
import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { chmod, chown, mkdir, open, readFile, rename, stat, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { mayGiveUsers } from '#providers/local/host/privilege.ts'
import type { Log } from '../log.ts'
import { ensureStoreData } from './embedded-data.ts'

export type MetadataStore = {
  url: string
  /** Stops watching. The store itself goes on running. */
  close(): Promise<void>
}

/** directory: the store's own folder. bin: where initdb and postgres are, readable for everybody. */
export type StorePlace = { directory: string; bin: string; log: Log }

/** Above every service's user (70000 + port) none is at 70000 itself. Needs no entry in /etc/passwd. */
const store_owner = { uid: 70_000, gid: 70_000 }

/** The kernel's limit, without the closing zero. */
const socket_path_bytes_max = 107
const start_seconds_max = 60
const stop_seconds_max = 30
const look_every_ms = 500
const retry_ms_max = 2_000
const poll_ms = 10
const empty_lock_ms = 30_000
const log_bytes_max = 1_000_000

export async function ensureMetadataStore(place: StorePlace): Promise<MetadataStore> {
  const excess = Buffer.byteLength(join(socketsOf(place), '.s.PGSQL.5432')) - socket_path_bytes_max
  if (excess > 0) throw new Error(`the path of ${socketsOf(place)} is ${excess} bytes too long for a unix socket`)
  const owner = mayGiveUsers() ? store_owner : undefined
  await mkdir(place.directory, { recursive: true, mode: 0o700 })
  // Not by mkdir: a strict umask would keep the store's own user out.
  if (owner) await chmod(place.directory, 0o711)
  await mkdir(socketsOf(place), { mode: 0o700 }).catch(unlessCode('EEXIST'))
  if (owner) await chown(socketsOf(place), owner.uid, owner.gid)
  await ensureStoreData({ ...place, data: dataOf(place), owner })
  await ensureServing(place)
  return { url: urlOf(place), close: watch(place) }
}

/** Ends the store without losing anything. A server that still watches it would start it again. */
export async function stopMetadataStore(place: Pick<StorePlace, 'directory'>): Promise<void> {
  const signals: [NodeJS.Signals, number][] = [
    ['SIGINT', stop_seconds_max],
    ['SIGQUIT', stop_seconds_max],
  ]
  for (const [signal, seconds] of signals) {
    const running = findPostmaster(dataOf(place))
    if (running === undefined) return
    signalProcess(running.pid, signal)
    const deadline = performance.now() + seconds * 1000
    while (performance.now() < deadline) {
      if (!isPostmaster(running.pid, dataOf(place))) return
      await pause(poll_ms)
    }
  }
  throw new Error('the embedded metadata store does not stop')
}

export async function metadataStoreIsRunning(place: Pick<StorePlace, 'directory'>): Promise<boolean> {
  return findPostmaster(dataOf(place)) !== undefined
}

const dataOf = ({ directory }: Pick<StorePlace, 'directory'>) => join(directory, 'data')
const socketsOf = ({ directory }: Pick<StorePlace, 'directory'>) => join(directory, 'run')
const logOf = ({ directory }: Pick<StorePlace, 'directory'>) => join(directory, 'postgres.log')

function urlOf(place: StorePlace): string {
  return `postgres://postgres@/postgres?host=${encodeURIComponent(socketsOf(place))}`
}

async function ensureServing(place: StorePlace): Promise<void> {
  const deadline = performance.now() + start_seconds_max * 1000
  let retry_ms = poll_ms * 2
  for (;;) {
    const running = findPostmaster(dataOf(place))
    if (running?.ready) return
    // Another one may just be starting, or a killed one's last backends still hold its memory: then a start fails.
    if (running === undefined && !(await start(place))) await pause((retry_ms = Math.min(retry_ms * 2, retry_ms_max)))
    if (performance.now() > deadline) {
      const tail = (await readFile(logOf(place), 'utf8').catch(() => '')).slice(-2_000)
      throw new Error(`the embedded metadata store does not start; the end of ${logOf(place)}:\n${tail}`)
    }
    await pause(poll_ms)
  }
}

/** Looks twice a second and starts the store when it is gone. Returns how to end it. */
function watch(place: StorePlace): () => Promise<void> {
  const end = new AbortController()
  const watching = (async () => {
    while (!end.signal.aborted) {
      await pause(look_every_ms, undefined, { signal: end.signal, ref: false }).catch(() => undefined)
      if (end.signal.aborted) return
      try {
        if (findPostmaster(dataOf(place))) continue
        place.log.warn({}, 'the metadata store is gone; starting it again')
        await ensureServing(place)
        place.log.info({}, 'the metadata store serves again')
      } catch (error) {
        place.log.error({ err: error }, 'the metadata store cannot be started')
      }
    }
  })()
  return async () => {
    end.abort()
    await watching
  }
}

/** False when the new process ended before it was ready. */
async function start(place: StorePlace): Promise<boolean> {
  const data = dataOf(place)
  const locks = [join(data, 'postmaster.pid'), join(socketsOf(place), '.s.PGSQL.5432.lock')]
  for (const lock of locks) await removeUsurpedLock(lock, data)
  const output = await openLog(logOf(place))
  const owner = mayGiveUsers() ? store_owner : {}
  const child = spawn(join(place.bin, 'postgres'), ['-D', data, ...settingsOf(place)], {
    ...owner,
    env: {},
    cwd: '/',
    detached: true,
    stdio: ['ignore', output.fd, output.fd],
  })
  child.once('error', (error) => place.log.error({ err: error }, 'the metadata store cannot be started'))
  child.unref()
  await output.close()
  const deadline = performance.now() + start_seconds_max * 1000
  while (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
    if (findPostmaster(data)?.ready) return true
    if (performance.now() > deadline) return false
    await pause(poll_ms)
  }
  return false
}

/** Durable like any PostgreSQL, and small: few connections, little memory, next to no work while idle. */
function settingsOf(place: StorePlace): string[] {
  const settings = {
    listen_addresses: '',
    unix_socket_directories: `"${socketsOf(place)}"`,
    unix_socket_permissions: '0700',
    max_connections: 50,
    shared_buffers: '32MB',
    wal_level: 'minimal',
    max_wal_senders: 0,
    max_wal_size: '256MB',
    max_worker_processes: 2,
    max_logical_replication_workers: 0,
    max_parallel_workers_per_gather: 0,
    io_method: 'sync',
    jit: 'off',
    bgwriter_lru_maxpages: 0,
    wal_writer_delay: '2s',
    autovacuum_naptime: '1min',
    checkpoint_timeout: '15min',
    timezone: 'UTC',
    log_timezone: 'UTC',
    log_checkpoints: 'off',
    // Statements and rows hold verifiers and hashes: neither belongs in a log.
    log_min_messages: 'log',
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
  }
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

// Read synchronously: two tiny files twice a second, at a quarter of what the thread pool costs.
function findPostmaster(data: string): { pid: number; ready: boolean } | undefined {
  const lines = textOf(join(data, 'postmaster.pid')).split('\n')
  const pid = Number(lines[0])
  if (!Number.isInteger(pid) || pid <= 0 || !isPostmaster(pid, data)) return undefined
  return { pid, ready: lines[7]?.trim() === 'ready' }
}

/** By its command line, which is the one thing that root may read everywhere and that a zombie does not have. */
function isPostmaster(pid: number, data: string): boolean {
  const words = textOf(`/proc/${pid}/cmdline`).split('\0')
  return words[words.indexOf('-D') + 1] === data && words[0]?.endsWith('/postgres') === true
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? error.code : undefined
    // ESRCH is how /proc says that the process went away while it was being read.
    if (code === 'ENOENT' || code === 'ESRCH') return ''
    throw error
  }
}

/**
 * After a reboot the process id in a stale lock file may be a stranger's, and a crash of the machine may leave the file
 * empty: PostgreSQL would refuse to start for ever. Moves such a file away; should it be another one by then, back.
 */
async function removeUsurpedLock(lock: string, data: string): Promise<void> {
  const seen = textOf(lock)
  const pid = Number(seen.split('\n')[0])
  // A dead owner is PostgreSQL's own business, and a file that has just become empty belongs to one that starts.
  const usurped = pid > 0 ? processExists(pid) && !isPostmaster(pid, data) : await isOlderThan(lock, empty_lock_ms)
  if (!usurped) return
  const aside = `${lock}.${process.pid}`
  await rename(lock, aside).catch(unlessCode('ENOENT'))
  if (textOf(aside) === seen) await unlink(aside).catch(unlessCode('ENOENT'))
  else await rename(aside, lock)
}

function processExists(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return error instanceof Error && 'code' in error && error.code === 'EPERM'
  }
}

async function isOlderThan(path: string, age_ms: number): Promise<boolean> {
  const seen = await stat(path).catch(unlessCode('ENOENT'))
  return seen !== undefined && Date.now() - seen.mtimeMs > age_ms
}

async function openLog(path: string) {
  const bytes = await stat(path).then(({ size }) => size, unlessCode('ENOENT'))
  if (bytes !== undefined && bytes > log_bytes_max) await rename(path, `${path}.old`)
  return open(path, 'a', 0o600)
}

function signalProcess(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    unlessCode('ESRCH')(error)
  }
}

function unlessCode(code: string) {
  return (error: unknown): undefined => {
    if (error instanceof Error && 'code' in error && error.code === code) return undefined
    throw error
  }
}
