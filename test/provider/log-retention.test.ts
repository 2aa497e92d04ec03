// Old log files go by age and by size, the oldest first, and never the one being written.
import { mkdtempSync, rmSync } from 'node:fs'
import { mkdir, readdir, rename, symlink, truncate, utimes, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import { newLogWatch } from '#providers/local/log/log-watch.ts'
import { ensureLogRetention, rotationMbOf } from '#providers/local/log/retention.ts'
import { until } from '#test/until.ts'

const mib = 1024 ** 2
const effects: string[] = []
const effect = async (name: string) => void effects.push(name)
let folder = ''

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'howdah-log-'))
  effects.length = 0
  const made = folder
  onTestFinished(() => rmSync(made, { recursive: true, force: true }))
})

const nameOf = (at: number) => `postgresql-20261115-00000${at}`

async function writeLog(at: number, mb: number, age_days = 0): Promise<void> {
  for (const suffix of ['.json', '.log']) {
    const path = join(folder, nameOf(at) + suffix)
    await writeFile(path, '')
    if (suffix === '.json') await truncate(path, mb * mib)
    const time = new Date(Date.now() - age_days * 86_400_000)
    await utimes(path, time, time)
  }
}

const left = async () => (await readdir(folder)).filter((name) => name.endsWith('.json')).toSorted()

test('what becomes too much between two passes is removed too', async () => {
  const watch = newLogWatch(effect, { days: 7, mb: 25 }, 10)
  onTestFinished(() => watch.close())
  for (const at of [1, 2]) await writeLog(at, 10)
  await watch.ensureKept(folder)
  expect(await left()).toHaveLength(2)
  for (const at of [3, 4]) await writeLog(at, 10)
  await until(async () => (await left()).length === 2)
  expect(await left()).toEqual([`${nameOf(3)}.json`, `${nameOf(4)}.json`])
})

test('a folder that cannot be read any more keeps no other from being watched, and ends no server', async () => {
  const watch = newLogWatch(effect, { days: 7, mb: 25 }, 10)
  onTestFinished(() => watch.close())
  const unreadable = join(folder, 'unreadable')
  await mkdir(unreadable)
  for (const one of [unreadable, folder]) await watch.ensureKept(one)
  await rename(unreadable, join(folder, 'away'))
  await symlink(unreadable, unreadable)
  for (const at of [1, 2, 3]) await writeLog(at, 10)
  await until(async () => (await left()).length === 2)
})

test('nothing goes while both limits are kept', async () => {
  for (const at of [1, 2, 3]) await writeLog(at, 10)
  await ensureLogRetention(effect, folder, { days: 7, mb: 30 })
  expect(effects).toEqual([])
  expect(await left()).toHaveLength(3)
})

test('what is too much goes, the oldest first, with the plain log beside it', async () => {
  for (const at of [1, 2, 3, 4]) await writeLog(at, 10)
  await ensureLogRetention(effect, folder, { days: 7, mb: 25 })
  expect(await readdir(folder)).toHaveLength(4)
  expect(await left()).toEqual([`${nameOf(3)}.json`, `${nameOf(4)}.json`])
  expect(new Set(effects)).toEqual(new Set(['old log: remove']))
})

test('what is too old goes, however little it is', async () => {
  await writeLog(1, 1, 9)
  await writeLog(2, 1, 8)
  await writeLog(3, 1, 6)
  await ensureLogRetention(effect, folder, { days: 7, mb: 1024 })
  expect(await left()).toEqual([`${nameOf(3)}.json`])
})

test('the file being written stays, however large and old it is', async () => {
  await writeLog(1, 50, 9)
  await ensureLogRetention(effect, folder, { days: 1, mb: 10 })
  expect(await left()).toEqual([`${nameOf(1)}.json`])
})

test('other files in the folder are not touched', async () => {
  await writeFile(join(folder, 'notes.json'), 'mine')
  await writeLog(1, 50, 9)
  await writeLog(2, 50)
  await ensureLogRetention(effect, folder, { days: 1, mb: 10 })
  expect(await left()).toEqual(['notes.json', `${nameOf(2)}.json`])
})

test.each([
  [10, 1],
  [1024, 100],
  [100_000, 100],
])('of %i MB a file takes %i at most', (mb, rotation_mb) => {
  expect(rotationMbOf({ days: 7, mb })).toBe(rotation_mb)
})
