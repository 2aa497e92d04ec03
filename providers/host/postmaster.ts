// A postmaster of this host, as its own pid file and /proc tell of it. Nothing is remembered: what runs is read each time and compared
// with what it should be. Readiness is read from the pid file too; a login would fill the log with refusals.
import { commandOf, signalIfThere, uidOf } from './daemon.ts'
import { untilNextPoll } from './poll.ts'
import { statIfThere } from './read.ts'
import type { Owner } from './user-map.ts'

/** A data directory, and the user that its postmaster runs as; undefined: the user of this process. */
export type Cluster = { data: string; owner: Owner | undefined }

/** `words`: those with which it was started. `stopping`: it was told to, and may wait for its clients for ever. */
export type Running = { pid: number; ready: boolean; stopping: boolean; words: readonly string[] }

export const pid_file = 'postmaster.pid'

export async function findRunning(cluster: Cluster, pid_text: string): Promise<Running | undefined> {
  const lines = pid_text.split('\n')
  const pid = Number(lines[0])
  const words = await commandOf(pid)
  if (!(await isOf(cluster, pid, words))) return undefined
  return { pid, ready: lines[7]?.trim() === 'ready', stopping: isStopping(pid_text), words }
}

/** By the eighth line of its pid file. */
export const isStopping = (pid_text: string): boolean => pid_text.split('\n')[7]?.trim() === 'stopping'

export async function isPostmaster(cluster: Cluster, pid: number): Promise<boolean> {
  return isOf(cluster, pid, await commandOf(pid))
}

/** Only while the number is still the postmaster's: it may have ended since it was found, and another process may have its number. */
export async function signalPostmaster(cluster: Cluster, pid: number, signal: NodeJS.Signals): Promise<void> {
  if (await isPostmaster(cluster, pid)) signalIfThere(pid, signal)
}

/** False when it has not ended in time. */
export async function endsWithin(cluster: Cluster, pid: number, wait_ms: number): Promise<boolean> {
  for (const began = performance.now(); performance.now() - began < wait_ms; await untilNextPoll(began)) {
    if (!(await isPostmaster(cluster, pid))) return true
  }
  return false
}

/** The processes that a postmaster forks have other titles. */
async function isOf({ data, owner }: Cluster, pid: number, words: readonly string[]): Promise<boolean> {
  const at = words.indexOf('-D')
  if (at < 0 || words[at + 1] !== data) return false
  return (await statIfThere(`/proc/${pid}`))?.uid === uidOf(owner)
}
