// What all daemons here have in common (PostgreSQL, PgBouncer, HAProxy): they are started so that they outlive the server, found by
// what /proc says of them, and killed for certain. No state about them is kept.
import { spawn, type ChildProcess } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { setTimeout as pause } from 'node:timers/promises'
import { listHostProcesses } from './process.ts'
import { errorCode, readIfThere } from './read.ts'
import { system_env } from './program.ts'
import type { Owner } from './user-map.ts'

const poll_every_ms = 3

/** output: the file of its stdout and stderr, opened with these flags. It changes to its user before the program begins. */
export async function spawnDaemon(
  { command, uid, gid, env }: { command: readonly string[]; uid?: number; gid?: number; env?: Record<string, string> },
  output: { path: string; flags: 'a' | 'wx' },
): Promise<ChildProcess> {
  const [program = '', ...args] = command
  const file = await open(output.path, output.flags, 0o600)
  try {
    return spawn(program, args, {
      cwd: '/',
      env: { ...system_env, ...env },
      detached: true,
      stdio: ['ignore', file.fd, file.fd],
      ...(uid === undefined ? {} : { uid }),
      ...(gid === undefined ? {} : { gid }),
    })
  } finally {
    await file.close()
  }
}

/**
 * What is found of a process that was just started, and is to outlive this one. Nothing when it has ended before, or is not found in
 * time; an error when its program could not be run.
 */
export async function findStarted<Found>(
  child: ChildProcess,
  find: () => Promise<Found | undefined>,
  { wait_ms, poll_ms }: { wait_ms: number; poll_ms: number },
): Promise<Found | Error | undefined> {
  let broken: Error | undefined
  child.on('error', (error) => {
    broken = error
  })
  child.unref()
  for (const deadline = performance.now() + wait_ms; performance.now() < deadline; await pause(poll_ms)) {
    const found = await find()
    if (found !== undefined) return found
    if (broken !== undefined || child.exitCode !== null || child.signalCode !== null) break
  }
  return broken
}

/** The arguments with which a process was started, or its own title; none when there is no such process. */
export async function commandOf(pid: number): Promise<string[]> {
  return (await readIfThere(`/proc/${pid}/cmdline`))?.split('\0') ?? []
}

/**
 * Whether the process is stopped, as by SIGSTOP: however busy the machine is, it cannot answer. A process that a debugger
 * traces for a moment does not count. Synchronous, because it is asked often.
 */
export function isStopped(pid: number): boolean {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    return stat.startsWith(' T', stat.lastIndexOf(')') + 1)
  } catch {
    return false
  }
}

/** `what`: the effect, and whose processes they are. `uid`: the user that they all have, if they have one of their own. */
type Ending = { what: string; whose: string; uid?: number | undefined; wait_ms: number }

/** The user that a daemon runs as; without one of its own it is that of this process. Others may have the same arguments. */
export const uidOf = (owner: Owner | undefined): number | undefined => owner?.uid ?? process.getuid?.()

/** Kills until no process is left for which this holds. */
export async function killProcesses(
  effect: (name: string) => Promise<void>,
  belongs: (pid: number) => Promise<boolean>,
  { what, whose, uid, wait_ms }: Ending,
): Promise<void> {
  for (const deadline = performance.now() + wait_ms; ; await pause(poll_every_ms)) {
    const left = await listProcesses(belongs, uid)
    if (left.length === 0) return
    if (performance.now() > deadline) throw new Error(`processes ${left.join(', ')} of ${whose} do not end`)
    await effect(what)
    for (const pid of left) signalIfThere(pid, 'SIGKILL')
  }
}

export function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch (error) {
    if (errorCode(error) !== 'ESRCH') throw error
  }
}

async function listProcesses(belongs: (pid: number) => Promise<boolean>, uid?: number): Promise<number[]> {
  const all = await listHostProcesses()
  const pids = all.filter(({ uids }) => uid === undefined || uids.includes(uid)).map(({ pid }) => pid)
  const chosen = await Promise.all(pids.map(belongs))
  return pids.filter((_, at) => chosen[at])
}

/** Entering needs privileges, so the prefix comes first and the privileges are dropped behind it, not by the spawning process. */
export function entering(prefix: readonly string[], wrapped: { command: string[]; uid?: number; gid?: number }) {
  if (prefix.length === 0) return wrapped
  return { command: [...prefix, ...asUser(wrapped), ...wrapped.command] }
}

/** The words before a command by which it runs as this user; without one, none. */
export function asUser({ uid, gid }: Partial<Owner>): string[] {
  return uid === undefined ? [] : ['setpriv', '--reuid', `${uid}`, '--regid', `${gid}`, '--clear-groups', '--']
}
