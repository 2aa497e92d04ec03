// Keys of the repository: that of daily use, which the server writes in restic's own form, is quick to open; where it cannot be written,
// restic's stays. Only who may write to the repository gives it keys.
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { backupFilesOf } from '#server/backup/backup-files.ts'
import { claimRepository, initRepository, openRepository, type Place, resticOf } from '#server/backup/repository.ts'
import { newRestic } from '#server/backup/restic.ts'
import { parseBackupTarget } from '#server/backup-target.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { has_restic, why } from './copied.ts'
import { newProxy } from './s3-proxy.ts'
import { newS3, s3TargetAt, secrets, why_no_s3 } from './s3.ts'

const short = { timeout_seconds: 60 }
const folder = newDataDir()
const repository = join(folder, 'repository')
const in_folder = parseBackupTarget(`file://${repository}`) ?? expect.fail()
const s3 = newS3()
const proxy = newProxy(s3.other_port, s3.url)
let recovery_key = ''

const placeAt = (name: string, target = in_folder): Place => {
  const data_dir = join(folder, name)
  mkdirSync(data_dir, { recursive: true })
  return { data_dir, installation_id: name, target, secrets }
}
const cache = join(folder, 'cache')
const byRecoveryKey = (target: Place['target'], text: string) => newRestic({ target, secrets, cache, key: { text } })
const keysIn = (): { N: number }[] => {
  const keys = join(repository, 'keys')
  return readdirSync(keys).map((name) => JSON.parse(readFileSync(join(keys, name), 'utf8')))
}

beforeAll(async () => {
  if (!why_no_s3) {
    await s3.start()
    await proxy.open()
  }
  if (has_restic) recovery_key = await initRepository(placeAt('own'))
})

afterAll(async () => {
  await proxy.close()
  await s3.remove()
  await removeDataDir(folder)
})

test.skipIf(why)(
  `a new repository has two keys: one for daily use, quick to open, and restic’s own for recovery${why}`,
  async () => {
    const [daily = 0, recovery = 0] = keysIn()
      .map(({ N }) => N)
      .toSorted((a, b) => a - b)
    expect([keysIn().length, daily]).toEqual([2, 1024])
    expect(recovery).toBeGreaterThan(daily)
    const config = await resticOf(placeAt('own'))(['cat', 'config'], short)
    expect(await byRecoveryKey(in_folder, recovery_key)(['cat', 'config'], short)).toBe(config)
    await expect(byRecoveryKey(in_folder, recovery_key.replace(/^./, '?'))(['cat', 'config'], short)).rejects.toThrow(
      'wrong password',
    )
    expect(readdirSync(repository).filter((name) => name.endsWith('.new'))).toEqual([])
  },
)

test.skipIf(why)(
  `an installation whose key restic made gets a quick one as soon as it opens the repository${why}`,
  async () => {
    const place = placeAt('own')
    const files = backupFilesOf(place.data_dir)
    await resticOf(place)(['key', 'add', '--new-password-file', files.daily_key], short)
    const quick = readFileSync(files.daily_key_id, 'utf8')
    rmSync(files.daily_key_id)
    await byRecoveryKey(in_folder, recovery_key)(['key', 'remove', quick], short)
    expect(keysIn().filter(({ N }) => N === 1024)).toHaveLength(0)

    await openRepository(place)
    expect(keysIn().filter(({ N }) => N === 1024)).toHaveLength(1)
    const { N } = JSON.parse(readFileSync(join(repository, 'keys', readFileSync(files.daily_key_id, 'utf8')), 'utf8'))
    expect(N).toBe(1024)
  },
)

test.skipIf(why)(`a killed init leaves no key but those of the init after it${why}`, async () => {
  const target = parseBackupTarget(`file://${join(folder, 'killed')}`) ?? expect.fail()
  const place = placeAt('killed-init', target)
  await initRepository(place)
  const files = backupFilesOf(place.data_dir)
  const restic = resticOf(place)
  const runs = JSON.parse(await restic(['snapshots', '--json'], short)) as { id: string }[]
  // As if it had been killed before its first run.
  await restic(['forget', ...runs.map(({ id }) => id)], short)
  rmSync(files.repository)
  const key = await initRepository(place)
  expect(JSON.parse(await restic(['key', 'list', '--json'], short))).toHaveLength(2)
  await byRecoveryKey(target, key)(['cat', 'config'], short)
})

test.skipIf(why)(`an installation whose repository was taken over leaves its keys alone${why}`, async () => {
  const own = placeAt('own')
  const files = backupFilesOf(own.data_dir)
  const other = placeAt('other')
  cpSync(join(own.data_dir, 'backup'), join(other.data_dir, 'backup'), { recursive: true })
  await claimRepository(other)
  rmSync(files.daily_key_id)
  const before = keysIn()
  await expect(openRepository(own)).rejects.toThrow('took over')
  expect(keysIn()).toEqual(before)
})

test.skipIf(why_no_s3)(`in a bucket keys are quick to open, too${why_no_s3}`, async () => {
  const place = placeAt('bucket', s3.target)
  const key = await initRepository(place)
  const own = await resticOf(place)(
    ['cat', 'key', readFileSync(backupFilesOf(place.data_dir).daily_key_id, 'utf8')],
    short,
  )
  expect(JSON.parse(own)).toMatchObject({ kdf: 'scrypt', N: 1024 })
  await byRecoveryKey(s3.target, key)(['cat', 'config'], short)
})

test.skipIf(why_no_s3)(`where a bucket takes no key from the server, restic makes it${why_no_s3}`, async () => {
  proxy.be({ serves: /minio/i })
  const target = s3TargetAt(proxy.url, 'there')
  const place = placeAt('refused', target)
  const key = await initRepository(place)
  const keys = JSON.parse(await resticOf(place)(['key', 'list', '--json'], short))
  const daily = readFileSync(backupFilesOf(place.data_dir).daily_key_id, 'utf8')
  expect(keys).toEqual(expect.arrayContaining([expect.objectContaining({ id: daily, current: true })]))
  expect(keys).toHaveLength(2)
  await byRecoveryKey(target, key)(['cat', 'config'], short)
  await openRepository(place)
})
