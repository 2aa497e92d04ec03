// A lock in a repository as a process leaves it that is killed on another machine.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { mayGiveUsers } from '#providers/host/privilege.ts'
import { until } from '#test/until.ts'
import { why } from './copied.ts'

/** For the name of a test that is skipped. */
export const why_no_lock = why || (mayGiveUsers() ? '' : ' (skipped: it takes a root)')

const poll_ms = 2

export const locksIn = (repository: string) =>
  readdirSync(join(repository, 'locks')).filter((name) => /^[0-9a-f]{64}$/.test(name))

/** Returns its id. restic waits 200 ms after it has made the lock: time enough to kill it. */
export async function leaveLock(repository: string, password: string): Promise<string> {
  const before = locksIn(repository)
  const found = () => locksIn(repository).find((id) => !before.includes(id))
  const env = { ...process.env, RESTIC_REPOSITORY: repository, RESTIC_PASSWORD: password }
  const words = ['--uts', 'sh', '-c', 'hostname lost-machine && exec restic prune --no-cache']
  return await until(async () => {
    const child = spawn('unshare', words, { env, stdio: 'ignore' })
    const closed = once(child, 'close')
    while (child.exitCode === null && found() === undefined) await pause(poll_ms)
    child.kill('SIGKILL')
    await closed
    return found()
  })
}
