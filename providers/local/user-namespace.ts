// The user namespace of an isolated installation. It lives as long as a process is in it, such as a database.
// 1. Every command and every server enters the one that is there: root of another namespace, be it with the same ids, may not
//    signal the processes of the first.
// 2. Where there is none, no process of the installation runs, and one is made. Turns keep two starts from making two.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'
import { signalIfThere } from './daemon.ts'
import { identityOf, listHostProcesses } from './host-process.ts'
import { nobody } from './layout.ts'
import { idsOf } from './privilege.ts'
import { findProgram, system_env } from './program.ts'
import { inTurn } from './turn.ts'
import type { UserMap } from './user-map.ts'

/** How long a new namespace waits for the process that it is made for. */
const first_process_seconds = 60
const timeout_ms = 10_000

export const isInside = (map: UserMap, pid: number | 'self' = 'self'): boolean =>
  idsOf(pid, 'uid') === map.uids && idsOf(pid, 'gid') === map.gids

/** Returns inside only: until then this process begins anew with the same words, as the same process of the system. */
export async function enterUserNamespace(data_dir: string, map: UserMap): Promise<void> {
  if (isInside(map)) return
  const pid = await inTurn(data_dir, 'isolation', () => ensureNamespace(data_dir, map))
  const again = [process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  process.execve?.(await getProgram('nsenter'), ['nsenter', `--user=/proc/${pid}/ns/user`, '--', ...again])
  assert.fail('a process that goes on is outside')
}

/** Makes one, is another user in it, and lets go of it. Fails as the first step that this host refuses. */
export async function tryUserNamespace(map: UserMap): Promise<void> {
  const pid = await makeNamespace(map)
  const as_nobody = ['setpriv', '--reuid', `${nobody.uid}`, '--regid', `${nobody.gid}`, '--clear-groups', '--']
  try {
    await run(await getProgram('nsenter'), [`--user=/proc/${pid}/ns/user`, '--', ...as_nobody, 'true'])
  } finally {
    signalIfThere(pid, 'SIGKILL')
  }
}

/** A process that is in it. */
async function ensureNamespace(data_dir: string, map: UserMap): Promise<number> {
  try {
    return (await findOldestInside(map)) ?? (await makeNamespace(map))
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new Error(
      `${data_dir} is isolated, and its users cannot be had (${reason}); /etc/subuid and /etc/subgid must give this user the same ids as when it was made`,
      { cause: error },
    )
  }
}

/** A command ends soon; a database, a store or a server was there before it and stays. */
async function findOldestInside(map: UserMap): Promise<number | undefined> {
  const inside = (await listHostProcesses()).filter(({ pid }) => isInside(map, pid))
  const start = (pid: number) => Number(identityOf(pid).split('/')[1])
  return inside.toSorted((one, other) => start(one.pid) - start(other.pid))[0]?.pid
}

/** The process that is first in it. */
async function makeNamespace({ uids, gids }: UserMap): Promise<number> {
  // Its parent ends at once: a server would never reap a child that it does not know.
  const first = `unshare --user -- sh -c 'echo $$; exec sleep ${first_process_seconds} </dev/null >/dev/null 2>&1' &`
  const { stdout, stderr } = await run('/bin/sh', ['-c', first])
  const pid = stdout.trim()
  // The shell succeeds also when what it has begun fails.
  if (pid === '') throw new Error(firstLineOf(stderr))
  try {
    await run(await getProgram('newuidmap'), [pid, ...uids.split(' ')])
    await run(await getProgram('newgidmap'), [pid, ...gids.split(' ')])
  } catch (error) {
    signalIfThere(Number(pid), 'SIGKILL')
    throw error
  }
  return Number(pid)
}

async function run(program: string, words: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  const running = promisify(execFile)(program, words, { env: system_env, cwd: '/', timeout: timeout_ms })
  return await running.catch((error: unknown) => {
    const said = error instanceof Error && 'stderr' in error ? String(error.stderr) : ''
    throw new Error(firstLineOf(said) || String(error), { cause: error })
  })
}

const firstLineOf = (text: string) => text.trim().split('\n')[0] ?? ''

async function getProgram(program: string): Promise<string> {
  const path = await findProgram(program)
  if (path === undefined) throw new Error(`${program}: not found`)
  return path
}
