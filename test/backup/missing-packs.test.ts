// A repository that was copied in part: the check names a missing pack at once, where restic by itself goes on to look for it, a minute for each folder.
import { readdirSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { checkRepository } from '#server/backup/check.ts'
import { newRestic, type Restic } from '#server/backup/restic.ts'
import { parseBackupTarget } from '#server/backup-target.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { why } from './copied.ts'

const folder = newDataDir()
const repository = join(folder, 'repository')
const target = parseBackupTarget(`file://${repository}`) ?? expect.fail()
const secrets = { aws_access_key_id: undefined, aws_secret_access_key: undefined }
const key = { text: 'a-secret-of-a-test' }
const unprivileged = newRestic({ target, secrets, cache: join(folder, 'cache'), key })
const restic: Restic = (words, options) => unprivileged(words, { ...options, as_root: true })
const day_ms = 86_400_000
const check = (all: boolean) => checkRepository(restic, { now: new Date(), all })

afterAll(() => removeDataDir(folder))

test.skipIf(why)(`a missing pack is named by the check, which ends then${why}`, { timeout: 60_000 }, async () => {
  await restic(['init'], { timeout_seconds: 60 })
  await restic(['backup', '--stdin'], { timeout_seconds: 60, input: 'what it has' })
  expect(await check(true)).toBeUndefined()
  const packs = join(repository, 'data')
  const files = readdirSync(packs, { recursive: true, encoding: 'utf8' }).map((name) => join(packs, name))
  for (const file of files.filter((one) => statSync(one).isFile())) rmSync(file)
  for (const all of [true, false]) {
    expect(await check(all)).toMatch(/^repository contains errors: pack [0-9a-f]{64}: does not exist$/)
  }
})

test('in thirty nights every pack is read, also where a month is shorter', async () => {
  const subsets = new Set<string | undefined>()
  const listening: Restic = async (words) => {
    subsets.add(words.at(-1))
    return ''
  }
  for (let night = 0; night < 30; night += 1) {
    const now = new Date(Date.parse('2026-02-01') + night * day_ms)
    await checkRepository(listening, { now, all: false })
  }
  expect(subsets.size).toBe(30)
})
