// Names that no two processes ever share: boot, process namespace, process id and its start. A file that
// bears one belongs to that process and is stale after its death.
import { readlinkSync, statSync } from 'node:fs'
import { findHostProcess, identityOf } from './process.ts'
import { bootId } from './read.ts'

/** A process of another namespace, which /proc does not show, proves by touching its file that it lives. */
const silence_ms_max = 15_000
/** Ten years. */
const uptime_ms_max = 10 * 365 * 24 * 3_600_000

export function ownName(): string {
  return `${hostName()}/${identityOf(process.pid)}`
}

/** `path`: the file that bears the name. */
export function isAlive(name: string, path: string): boolean {
  const [boot, namespace, pid, start] = name.split('/')
  if (boot !== bootId()) return false
  if (`${boot}/${namespace}` !== hostName()) return silenceMsOf(path) < silence_ms_max
  return runs(pid, start)
}

/** True only when the process ran on this host and certainly runs no more. A process elsewhere is not judged. */
export function hasEnded(name: string): boolean {
  const [boot, namespace, pid, start] = name.split('/')
  return `${boot}/${namespace}` === hostName() && !runs(pid, start)
}

const runs = (pid = '', start = '') =>
  findHostProcess(Number(pid)) !== undefined && identityOf(Number(pid)) === `${pid}/${start}`

/** Since the file was last touched; Infinity when there is no such file. */
export function silenceMsOf(path: string): number {
  const stats = statSync(path, { throwIfNoEntry: false })
  if (stats === undefined) return Infinity
  // A new file has the time of day until it is touched.
  const now_ms = stats.mtimeMs > uptime_ms_max ? Date.now() : steadySeconds() * 1000
  return now_ms - stats.mtimeMs
}

/**
 * The time that a process gives its file when it touches it. The clock is the system's steady one, the same in all processes of a host:
 * when the time of day is set, no process seems silent.
 */
export const steadySeconds = () => Number(process.hrtime.bigint()) / 1e9

const hostName = () => `${bootId()}/${readlinkSync('/proc/self/ns/pid')}`
