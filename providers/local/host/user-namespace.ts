// The user namespace of an isolated installation. It lives as long as a process is in it, such as a database.
// 1. Every command and every server enters the existing namespace: root of another namespace, even with the same ids, may not
//    signal the processes of the first.
// 2. Where there is none, no process of the installation runs, and it is made. Turns keep two starts from making two.
// 3. It is reached through a process in it, which may be a tenant's and move at that moment into a namespace in which the
//    tenant is root. So it is known by its inode, and what is opened is compared before it is entered.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { statSync } from 'node:fs'
import { promisify } from 'node:util'
import { messageOf } from '../../host/message.ts'
import { asUser, signalIfThere } from '../../host/daemon.ts'
import { type HostProcess, identityOf, listHostProcesses } from '../../host/process.ts'
import { unprivileged } from '../../host/user-map.ts'
import { isInside } from '../../host/privilege.ts'
import { findProgram, system_env } from '../../host/program.ts'
import { inTurn, type RequireTurn } from '../../host/turn.ts'
import type { UserMap } from '../../host/user-map.ts'

/** How long a new namespace waits for the process that it is made for. */
const first_process_seconds = 60
const timeout_ms = 10_000

/** Returns inside only: until then this process executes its own command line again, in the namespace. */
export async function enterUserNamespace(data_dir: string, map: UserMap): Promise<void> {
  if (isInside(map)) return
  const namespace = await inTurn(data_dir, 'isolation', (requireTurn) => ensureNamespace(data_dir, map, requireTurn))
  const again = [process.execPath, ...process.execArgv, ...process.argv.slice(1)]
  process.execve?.('/bin/sh', ['sh', ...wordsToEnter(namespace, again)])
  assert.fail('a process that goes on is outside')
}

/** A process that is in it, and its inode. */
type Namespace = { pid: number; inode: number }

/** The arguments of a shell that becomes the command inside. */
export function wordsToEnter({ pid, inode }: Namespace, command: readonly string[]): string[] {
  const stale = 'howdah: the user namespace of this data directory has just ended; try again'
  const script = [
    'exec 3< "$0" && namespace=$(stat -Lc %i /proc/self/fd/3)',
    `if test "$namespace" != ${inode}; then echo '${stale}' >&2; exit 1; fi`,
    `exec nsenter --user=/proc/self/fd/3 -- sh -c 'exec "$@" 3<&-' sh "$@"`,
  ]
  return ['-c', script.join('; '), `/proc/${pid}/ns/user`, ...command]
}

/** Makes one, becomes another user in it, and releases it. Throws the error of the first step that this host refuses. */
export async function tryUserNamespace(map: UserMap): Promise<void> {
  const pid = await makeNamespace(map, () => undefined)
  try {
    await run(await getProgram('nsenter'), [`--user=/proc/${pid}/ns/user`, '--', ...asUser(unprivileged), 'true'])
  } finally {
    signalIfThere(pid, 'SIGKILL')
  }
}

async function ensureNamespace(data_dir: string, map: UserMap, requireTurn: RequireTurn): Promise<Namespace> {
  try {
    const found = await findNamespace(map)
    if (found !== undefined) return found
    const pid = await makeNamespace(map, requireTurn)
    return { pid, inode: inodeOf(pid) }
  } catch (error) {
    const reason = messageOf(error)
    throw new Error(
      `${data_dir} is isolated, and its users cannot be had (${reason}); /etc/subuid and /etc/subgid must give this user the same ids as when it was made`,
      { cause: error },
    )
  }
}

/** By the oldest process of ours, or else of any user: a command exits soon, an older process lives on. */
async function findNamespace(map: UserMap): Promise<Namespace | undefined> {
  const start = ({ pid }: HostProcess) => Number(identityOf(pid).split('/')[1])
  const isOurs = ({ uids }: HostProcess) => uids.every((uid) => uid === process.getuid?.())
  const all = (await listHostProcesses()).toSorted((one, other) => start(one) - start(other))
  for (const { pid } of [...all.filter(isOurs), ...all]) {
    const inode = inodeOf(pid)
    // A process that leaves a namespace in which it has no rights cannot return: if it is in it now, it was in it before.
    if (isInside(map, pid)) return { pid, inode }
  }
  return undefined
}

/** NaN when there is no such process, or we may not read it. */
function inodeOf(pid: number): number {
  try {
    return statSync(`/proc/${pid}/ns/user`).ino
  } catch {
    return Number.NaN
  }
}

/** Returns the first process in it. */
async function makeNamespace({ uids, gids }: UserMap, requireTurn: RequireTurn): Promise<number> {
  // Its parent exits at once: a server would never reap a child that it does not know.
  const first = `unshare --user -- sh -c 'echo $$; exec sleep ${first_process_seconds} </dev/null >/dev/null 2>&1' &`
  const { stdout, stderr } = await run('/bin/sh', ['-c', first])
  const pid = stdout.trim()
  // The shell succeeds also when its background command fails.
  if (pid === '') throw new Error(firstLineOf(stderr))
  try {
    await run(await getProgram('newuidmap'), [pid, ...uids.split(' ')])
    await run(await getProgram('newgidmap'), [pid, ...gids.split(' ')])
    // Without its turn it may not be the only one, and later commands would enter the older of two.
    requireTurn()
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
