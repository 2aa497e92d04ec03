// Notices the death of a process of a service, also when it is not our child: within half a second, or at once where
// a replica could take over. Of those it also notices that they were stopped (SIGSTOP), no longer answer, or have lost their data;
// of every server, that another program told it to stop.
// Promises: one call back per death, no confusion by a reused process id, next to no cost while nothing happens.
// It only reads; the caller finds out what a death means.
import { closeSync, openSync, readSync } from 'node:fs'
import type { Socket } from 'node:net'
import { isStopped } from '../../host/daemon.ts'
import { isStopping, pid_file } from '../../host/postmaster.ts'
import { findConnection, type Listening } from './liveness.ts'
import { newPolling } from './polling.ts'
import { findEntry, openFile } from './tenant-files.ts'

export type Watch = {
  /**
   * The key is an id, or `<id>/<what>` for one of several processes of it. Watching the same process again changes nothing
   * but the options; another process under the same key replaces it.
   */
  track(key: string, pid: number, options?: WatchOptions): void
  has(key: string): boolean
  /** With everything below: `<id>` forgets `<id>/pooler` too. */
  forget(key: string): void
  /** Called with the id, whichever of its processes it was. */
  onChange(callback: (id: string) => void): void
  close(): void
}

type WatchOptions = {
  /** A replica can take over: checked all the time. */
  urgent?: boolean
  /** Its unix socket, polled for an answer. */
  listening?: Listening
  /**
   * A server's data directory. Its pid file says when the server is told to stop; of a server with a socket it is checked at every poll
   * for an answer, because the server itself would not notice for long that it was moved or emptied.
   */
  data?: string
}

type Tracked = WatchOptions & {
  pid: number
  fd: number | undefined
  /** Its pid file, which PostgreSQL never replaces while it runs. */
  pid_file_fd: number | undefined
  line?: Socket | undefined
  /** Of urgent processes: as of the last poll. */
  stopped?: boolean
}

const poll_every_ms = 500
const poll_for_stops_every_ms = 250
const poll_urgently_every_ms = 100
const ask_every_ms = 2_000
const answer_within_ms = 1_000
/** Its lines are two paths and a few numbers. */
const pid_file_bytes_max = 4_096

export function newWatch(): Watch {
  const tracked = new Map<string, Tracked>()
  const callbacks: ((id: string) => void)[] = []
  const buffer = Buffer.alloc(pid_file_bytes_max)

  const tell = (key: string) => {
    for (const callback of callbacks) callback(key.split('/')[0] ?? key)
  }
  const forgetOne = (key: string) => {
    const one = tracked.get(key)
    tracked.delete(key)
    for (const fd of [one?.fd, one?.pid_file_fd]) if (fd !== undefined) closeSync(fd)
    one?.line?.destroy()
  }
  const poll = (chosen: (one: Tracked) => boolean) => {
    const dead: string[] = []
    for (const [key, one] of tracked) if (chosen(one) && !isUp(one, buffer)) dead.push(key)
    for (const key of dead) forgetOne(key)
    if (dead.length > 0) setTimers()
    for (const key of dead) tell(key)
  }
  const ask = (key: string, one: Tracked) => {
    const isTracked = () => tracked.get(key) === one
    // A death is reported once, by the poll or by the connection, whichever notices it first.
    void renewLine(one, isTracked, () => (isUp(one, buffer) ? tell(key) : poll((other) => other === one)))
  }
  const timers = [
    newPolling(poll_every_ms, () => poll(() => true)),
    newPolling(poll_for_stops_every_ms, () => newlyStopped(tracked).forEach(tell)),
    newPolling(poll_urgently_every_ms, () => poll(isUrgent)),
    newPolling(ask_every_ms, () => tracked.forEach((one, key) => ask(key, one))),
  ]
  const setTimers = () => {
    const all = [...tracked.values()]
    const urgent = all.some(isUrgent)
    const needed = [all.length > 0, urgent, urgent, all.some(({ listening }) => listening !== undefined)]
    for (const [index, timer] of timers.entries()) timer.set(needed[index] === true)
  }
  return {
    track(key, pid, options = {}) {
      const before = tracked.get(key)
      if (before?.pid === pid && isSame(before, options)) return
      forgetOne(key)
      const one = newTracked(pid, options)
      tracked.set(key, one)
      setTimers()
      ask(key, one)
    },
    has: (key) => tracked.has(key),
    forget(key) {
      const known = [...tracked.keys()].filter((one) => one === key || one.startsWith(`${key}/`))
      for (const one of known) forgetOne(one)
      if (known.length > 0) setTimers()
    },
    onChange: (callback) => void callbacks.push(callback),
    close() {
      for (const key of tracked.keys()) forgetOne(key)
      setTimers()
    },
  }
}

/** Urgent processes that are stopped now and were not at the last call. */
function newlyStopped(tracked: ReadonlyMap<string, Tracked>): string[] {
  const keys: string[] = []
  for (const [key, one] of tracked) {
    if (!isUrgent(one)) continue
    const before = one.stopped
    one.stopped = isStopped(one.pid)
    if (one.stopped && !before) keys.push(key)
  }
  return keys
}

/** Asks it, and keeps the connection by which it answered until it has answered on the next. */
async function renewLine(one: Tracked, isTracked: () => boolean, tell: () => void): Promise<void> {
  if (one.listening === undefined) return
  const has_data = one.data === undefined || hasControlFile(one.data)
  const line = has_data ? await findConnection(one.listening, answer_within_ms) : undefined
  if (!isTracked()) return void line?.destroy()
  if (line === undefined) return tell()
  const before = one.line
  one.line = line.unref()
  before?.destroy()
  // The server alone closes the connection in use: its close is the server's death.
  line.once('close', () => {
    if (isTracked() && one.line === line) tell()
  })
}

function isSame(one: WatchOptions, other: WatchOptions): boolean {
  const [at, other_at] = [one.listening, other.listening]
  const same_socket = at?.sockets === other_at?.sockets && at?.port === other_at?.port
  return one.urgent === other.urgent && same_socket && one.data === other.data
}

/** A folder without a control file counts as lost: the caller finds out what that means. */
function hasControlFile(data: string): boolean {
  try {
    return findEntry(data, 'global/pg_control') !== undefined
  } catch {
    return false
  }
}

const isUrgent = ({ urgent }: Tracked) => urgent === true

/** An open file of /proc belongs to one process, not to its number: after its death reading fails for ever. */
function openProcess(pid: number): number | undefined {
  try {
    return openSync(`/proc/${pid}/statm`, 'r')
  } catch {
    return undefined
  }
}

const zero = '0'.charCodeAt(0)

function newTracked(pid: number, options: WatchOptions): Tracked {
  const { data } = options
  return { ...options, pid, fd: openProcess(pid), pid_file_fd: data === undefined ? undefined : openPidFile(data) }
}

function openPidFile(data: string): number | undefined {
  try {
    return openFile(data, pid_file)
  } catch {
    return undefined
  }
}

function isUp({ fd, pid_file_fd }: Tracked, buffer: Buffer): boolean {
  if (!isAlive(fd, buffer)) return false
  if (pid_file_fd === undefined) return true
  try {
    return !isStopping(buffer.toString('latin1', 0, readSync(pid_file_fd, buffer, 0, buffer.length, 0)))
  } catch {
    return true
  }
}

/** A zombie is dead, reaped or not: it has no memory left. Half the price of reading its state. */
function isAlive(fd: number | undefined, buffer: Buffer): boolean {
  if (fd === undefined) return false
  try {
    return readSync(fd, buffer, 0, 1, 0) === 1 && buffer[0] !== zero
  } catch {
    return false
  }
}
