// The embedded metadata store: a small PostgreSQL in the data directory, for installations without a DATABASE_URL.
// 1. It is a daemon like every other database here: it outlives the server and is adopted by the next one.
//    Only `stop --all` ends it (stopMetadataStore).
// 2. It has no network address: one unix socket in a folder that only its own user and the server can enter.
// 3. Several servers may ensure it at once: PostgreSQL's own lock lets one start win, and the others find it running.
// 4. Killed, or told to stop by another program, it is started again within two seconds by any server that watches it.
import { chmod, chown, mkdir, rename, unlink } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { spawnDaemon } from '#providers/host/daemon.ts'
import { readIfThere, statIfThere, undefinedIfAbsent } from '#providers/host/read.ts'
import {
  type Cluster,
  findRunning,
  endsWithin,
  isPostmaster,
  pid_file,
  signalPostmaster,
} from '#providers/host/postmaster.ts'
import { mayGiveUsers } from '#providers/host/privilege.ts'
import { first_service_uid } from '#providers/host/user-map.ts'
import type { Log } from '../log.ts'
import { ensureStoreData } from './embedded-data.ts'

type MetadataStore = {
  url: string
  /** Stops watching. The store itself goes on running. */
  close(): Promise<void>
}

/** directory: the store's own folder. bin: where initdb and postgres are, readable for all users. */
export type StorePlace = { directory: string; bin: string; log: Log }

/** No service has port 0, so none has this user. It needs no entry in /etc/passwd. */
const store_owner = { uid: first_service_uid, gid: first_service_uid }

/** The kernel's limit, without the closing zero. */
const socket_path_bytes_max = 107
const start_seconds_max = 60
const stop_ms_max = 30_000
const watch_every_ms = 500
const retry_ms_max = 2_000
const poll_ms = 10
const empty_lock_ms = 30_000
const log_bytes_max = 1_000_000

export async function ensureMetadataStore(place: StorePlace): Promise<MetadataStore> {
  const excess = Buffer.byteLength(join(socketsOf(place), '.s.PGSQL.5432')) - socket_path_bytes_max
  if (excess > 0) throw new Error(`the path of ${socketsOf(place)} is ${excess} bytes too long for a unix socket`)
  const cluster = clusterOf(place)
  const { owner } = cluster
  await mkdir(place.directory, { recursive: true, mode: 0o700 })
  // Not by mkdir: a strict umask would keep the store's own user out.
  if (owner) await chmod(place.directory, 0o711)
  await mkdir(socketsOf(place), { recursive: true, mode: 0o700 })
  if (owner) await chown(socketsOf(place), owner.uid, owner.gid)
  await ensureStoreData({ ...place, ...cluster })
  await ensureServing(place)
  return { url: urlOf(place), close: watch(place) }
}

/** Stops the store without losing anything. A server that still watches it would start it again. */
export async function stopMetadataStore(place: Pick<StorePlace, 'directory'>): Promise<void> {
  const cluster = clusterOf(place)
  for (const signal of ['SIGINT', 'SIGQUIT'] as const) {
    const running = await findPostmaster(place)
    if (running === undefined) return
    await signalPostmaster(cluster, running.pid, signal)
    if (await endsWithin(cluster, running.pid, stop_ms_max)) return
  }
  throw new Error('the embedded metadata store does not stop')
}

export async function metadataStoreIsRunning(place: Pick<StorePlace, 'directory'>): Promise<boolean> {
  return (await findPostmaster(place)) !== undefined
}

const clusterOf = ({ directory }: Pick<StorePlace, 'directory'>): Cluster => ({
  data: join(directory, 'data'),
  owner: mayGiveUsers() ? store_owner : undefined,
})
const socketsOf = ({ directory }: Pick<StorePlace, 'directory'>) => join(directory, 'run')
const logOf = ({ directory }: Pick<StorePlace, 'directory'>) => join(directory, 'postgres.log')

function urlOf(place: StorePlace): string {
  return `postgres://postgres@/postgres?host=${encodeURIComponent(socketsOf(place))}`
}

async function ensureServing(place: StorePlace): Promise<void> {
  const deadline = performance.now() + start_seconds_max * 1000
  let retry_ms = poll_ms * 2
  for (;;) {
    const running = await findPostmaster(place)
    if (running?.ready) return
    // Else it would wait for our own sessions, for ever.
    if (running?.stopping) await signalPostmaster(clusterOf(place), running.pid, 'SIGINT')
    // Another server may be starting it, or the last backends of a killed one may still have its memory: then a start fails.
    if (running === undefined && !(await start(place))) await pause((retry_ms = Math.min(retry_ms * 2, retry_ms_max)))
    if (performance.now() > deadline) {
      const tail = (await readIfThere(logOf(place)))?.slice(-2_000)
      throw new Error(`the embedded metadata store does not start; the end of ${logOf(place)}:\n${tail}`)
    }
    await pause(poll_ms)
  }
}

/** Polls twice a second and starts the store when it does not run. Returns how to end that. */
function watch(place: StorePlace): () => Promise<void> {
  const end = new AbortController()
  const watching = (async () => {
    while (!end.signal.aborted) {
      await pause(watch_every_ms, undefined, { signal: end.signal, ref: false }).catch(() => undefined)
      if (end.signal.aborted) return
      try {
        const running = await findPostmaster(place)
        if (running && !running.stopping) continue
        place.log.warn({}, 'the metadata store does not run; starting it again')
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
  const cluster = clusterOf(place)
  const locks = [join(cluster.data, pid_file), join(socketsOf(place), '.s.PGSQL.5432.lock')]
  for (const lock of locks) await removeUsurpedLock(lock, cluster)
  await rotateLog(logOf(place))
  const command = [join(place.bin, 'postgres'), '-D', cluster.data, ...settingsOf(place)]
  const child = await spawnDaemon({ command, ...cluster.owner }, { path: logOf(place), flags: 'a' })
  child.once('error', (error) => place.log.error({ err: error }, 'the metadata store cannot be started'))
  child.unref()
  const deadline = performance.now() + start_seconds_max * 1000
  while (child.pid !== undefined && child.exitCode === null && child.signalCode === null) {
    if ((await findPostmaster(place))?.ready) return true
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
    // Unlike at its initdb: files would be written to the disk again and again.
    dynamic_shared_memory_type: 'posix',
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
    // Statements and rows contain verifiers and hashes: neither belongs in a log.
    log_min_messages: 'log',
    log_min_error_statement: 'panic',
    log_error_verbosity: 'terse',
  }
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

async function findPostmaster(place: Pick<StorePlace, 'directory'>) {
  const cluster = clusterOf(place)
  return findRunning(cluster, (await readIfThere(join(cluster.data, pid_file))) ?? '')
}

/**
 * After a reboot the process id in a stale lock file may be another program's, and a crash of the machine may leave the file empty:
 * PostgreSQL would refuse to start for ever. Such a file is moved aside; a file that another server has made meanwhile is moved back.
 */
async function removeUsurpedLock(lock: string, cluster: Cluster): Promise<void> {
  const text = await readIfThere(lock)
  if (text === undefined) return
  const pid = Number(text.split('\n')[0])
  // PostgreSQL itself removes the lock of a dead process, and an empty file that is young belongs to a process that starts.
  const is_usurped =
    pid > 0 ? (await statIfThere(`/proc/${pid}`)) && !(await isPostmaster(cluster, pid)) : await isOld(lock)
  if (!is_usurped) return
  const aside = `${lock}.${process.pid}`
  await rename(lock, aside).catch(undefinedIfAbsent)
  if ((await readIfThere(aside)) === text) await unlink(aside).catch(undefinedIfAbsent)
  else await rename(aside, lock).catch(undefinedIfAbsent)
}

async function isOld(path: string): Promise<boolean> {
  const found = await statIfThere(path)
  return found !== undefined && Date.now() - found.mtimeMs > empty_lock_ms
}

async function rotateLog(path: string): Promise<void> {
  const bytes = (await statIfThere(path))?.size ?? 0
  if (bytes > log_bytes_max) await rename(path, `${path}.old`)
}
