// The process of a pooler: found, started, signalled, killed. It is a daemon that outlives the server, so no state about it is
// kept: its own pid file, which it writes when it listens, and /proc are read every time.
import type { ChildProcess } from 'node:child_process'
import { open, truncate } from 'node:fs/promises'
import { asUser, commandOf, findStarted, killProcesses, signalIfThere, spawnDaemon } from '../../host/daemon.ts'
import { ensureEntryRemoved, type Effect } from '../host/effect.ts'
import { statIfThere, undefinedIfAbsent } from '../../host/read.ts'
import type { Node } from '../host/layout.ts'
import type { Limits } from '../host/limits.ts'
import { readText } from '../host/tenant-files.ts'
import { poolerFilesOf } from './files.ts'

/** `died`: the process of the pid file does not run, so it died by itself. */
type FoundPooler = { pid: number | undefined; died: boolean }

type PoolerStart = {
  program: string
  /** The command prefix that brings it into its network. */
  prefix: readonly string[]
  files_max: number
  limits: Limits
}

const poll_every_ms = 3
const start_wait_ms = 5_000
const end_wait_ms = 5_000
const log_bytes_max = 1024 ** 2
/** Of a start, or of a signal: a few lines. */
const said_bytes_max = 64 * 1024
const sentence_chars_max = 300

export const poolerGroupOf = ({ service_id }: Node): string => `${service_id}-pooler`

export async function findPooler(node: Node): Promise<FoundPooler> {
  const { folder, pid_name } = poolerFilesOf(node)
  const text = readText(folder, pid_name)
  if (text === undefined) return { pid: undefined, died: false }
  const pid = Number(text)
  return (await isOurs(node, pid)) ? { pid, died: false } : { pid: undefined, died: true }
}

/** Starts it where none runs and waits until it listens. A sentence when it does not. */
export async function startPooler(effect: Effect, node: Node, start: PoolerStart): Promise<number | string> {
  // Of a server that died after spawning it; it has written no pid file yet.
  await killPooler(effect, node)
  const said_before = (await statIfThere(poolerFilesOf(node).log))?.size ?? 0
  await effect('pooler: spawn')
  const child = await spawnPooler(node, start)
  const findIt = async () => (await findPooler(node)).pid
  const started = await findStarted(child, findIt, { wait_ms: start_wait_ms, poll_ms: poll_every_ms })
  if (typeof started === 'number') return started
  return `the connection pooler did not start: ${started?.message ?? (await lastWordsOf(node, said_before))}`
}

/** Its clients lose their connections; PostgreSQL rolls back what they had not committed. */
export async function killPooler(effect: Effect, node: Node): Promise<void> {
  const whose = `the pooler of ${node.service_id}`
  await killProcesses(effect, (pid) => isOurs(node, pid), { what: 'pooler: kill', whose, wait_ms: end_wait_ms })
  // PgBouncer does not start when the number in it is in use again.
  const { folder, pid_name } = poolerFilesOf(node)
  await ensureEntryRemoved(effect, 'pooler pid file', folder, pid_name)
}

export async function signalPooler(effect: Effect, node: Node, pid: number, signal: NodeJS.Signals): Promise<void> {
  await effect(`pooler: ${signal}`)
  // Checked again: meanwhile the process may have exited and its number been reused.
  if (await isOurs(node, pid)) signalIfThere(pid, signal)
}

/** Its log is of use while it is new. Refused logins are a line each, and any client can be refused. */
export async function ensurePoolerLogBounded(effect: Effect, node: Node): Promise<void> {
  const { log } = poolerFilesOf(node)
  if (((await statIfThere(log))?.size ?? 0) <= log_bytes_max) return
  await effect('pooler log: empty')
  await truncate(log)
}

/** What it said after so many bytes, as far as that is of use. */
export async function poolerLogSince(node: Node, from: number): Promise<string> {
  const file = await open(poolerFilesOf(node).log).catch(undefinedIfAbsent)
  if (file === undefined) return ''
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(said_bytes_max), { position: from })
    return buffer.toString('utf8', 0, bytesRead)
  } finally {
    await file.close()
  }
}

async function spawnPooler(node: Node, { program, prefix, files_max, limits }: PoolerStart): Promise<ChildProcess> {
  const files = poolerFilesOf(node)
  const wrapped = limits.wrap(poolerGroupOf(node), [program, files.settings], node.owner)
  // A client is an open file: as many as needed, or at least as many as the system permits.
  const raise = `ulimit -n ${files_max} 2>/dev/null || ulimit -S -n "$(ulimit -H -n)"; exec "$@"`
  // Privileges are dropped last: they are needed to enter a network.
  const raised = ['/bin/sh', '-c', raise, 'sh', ...prefix, ...asUser(wrapped), ...wrapped.command]
  // Appended to, so that it can be emptied under a running process.
  return await spawnDaemon({ command: raised }, { path: files.log, flags: 'a' })
}

/** PgBouncer with our settings, or the process about to become it; under the user that it must run as, or still under ours. */
async function isOurs(node: Node, pid: number): Promise<boolean> {
  const argv = await commandOf(pid)
  // What others do with the file, such as reading it, is their own affair.
  if (argv.at(-2) !== poolerFilesOf(node).settings || !argv.at(-3)?.endsWith('/pgbouncer')) return false
  const uid = (await statIfThere(`/proc/${pid}`))?.uid
  return uid === process.getuid?.() || uid === node.owner?.uid
}

async function lastWordsOf(node: Node, from: number): Promise<string> {
  const lines = (await poolerLogSince(node, from)).split('\n').filter((line) => line.trim() !== '')
  const line = lines.findLast((each) => /\b(FATAL|ERROR|WARNING)\b/.test(each)) ?? lines.at(-1) ?? 'it gave no reason'
  return line.replace(/^.*\b(?:FATAL|ERROR|WARNING)\s+/, '').slice(0, sentence_chars_max)
}
