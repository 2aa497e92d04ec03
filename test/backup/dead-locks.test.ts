// A prune that was killed on another machine has locked the repository: no backup is possible until its lock is known to be dead.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newDeadLocks, whenUnlocked } from '#server/backup/dead-locks.ts'
import { newRestic, type Restic } from '#server/backup/restic.ts'
import { parseBackupTarget } from '#server/backup-target.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { until } from '#test/until.ts'
import { leaveLock, locksIn, why_no_lock } from './locked.ts'

const folder = newDataDir()
const repository = join(folder, 'repository')
const password = 'a-secret-of-a-test'
const target = parseBackupTarget(`file://${repository}`) ?? expect.fail()
const secrets = { aws_access_key_id: undefined, aws_secret_access_key: undefined }
const unprivileged = newRestic({ target, secrets, cache: join(folder, 'cache'), key: { text: password } })
const restic: Restic = (words, options) => unprivileged(words, { ...options, as_root: true })
const store = () => restic(['backup', '--stdin'], { timeout_seconds: 60, input: 'what it has' })

beforeAll(async () => {
  if (!why_no_lock) await restic(['init'], { timeout_seconds: 60 })
})

afterAll(() => removeDataDir(folder))

test.skipIf(why_no_lock)(
  `a lock that is not renewed is that of a dead process, and what waits for it goes on${why_no_lock}`,
  async () => {
    await leaveLock(repository, password)
    await expect(store()).rejects.toThrow('already locked exclusively')
    // restic itself takes it for that of a living process.
    await restic(['unlock'], { timeout_seconds: 60 })
    expect(locksIn(repository)).toHaveLength(1)
    let waited = 0
    const onWait = () => void (waited += 1)
    await whenUnlocked(restic, { locks: newDeadLocks(1_000), onWait }, store)
    expect(waited).toBe(1)
    expect(locksIn(repository)).toEqual([])
  },
)

test.skipIf(why_no_lock)(`a lock that is renewed stays${why_no_lock}`, async () => {
  const patience_ms = 1_000
  const locks = newDeadLocks(patience_ms)
  const first = await leaveLock(repository, password)
  await locks.remove(restic)
  const begun = performance.now()
  // A living process makes another lock first, and then removes the one before.
  rmSync(join(repository, 'locks', first))
  const second = await leaveLock(repository, password)
  await until(() => performance.now() - begun > patience_ms)
  await locks.remove(restic)
  expect(locksIn(repository)).toEqual([second])
})
