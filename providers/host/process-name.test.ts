// Whether a process that /proc does not show lives: by the signs of life of its file, whatever the time of day is.
import { utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { isAlive, ownName, steadySeconds } from './process-name.ts'

const directory = newDataDir()
const path = join(directory, 'file')
const [boot] = ownName().split('/')
const in_another_namespace = `${boot}/pid:[1]/1/1`

beforeAll(() => {
  vi.useFakeTimers({ toFake: ['Date'] })
})

afterAll(async () => {
  vi.useRealTimers()
  await removeDataDir(directory)
})

const touched = (seconds_ago: number) => {
  writeFileSync(path, '')
  const then = steadySeconds() - seconds_ago
  utimesSync(path, then, then)
}

test.each([0, -3600, 3600])('a clock that is set by %d s makes no process silent, and none alive', (seconds) => {
  vi.setSystemTime(Date.now() + seconds * 1000)
  touched(0)
  expect(isAlive(in_another_namespace, path)).toBe(true)
  touched(60)
  expect(isAlive(in_another_namespace, path)).toBe(false)
})

test('a file that was not touched yet is as old as its time of day says', () => {
  vi.useRealTimers()
  writeFileSync(path, '')
  const now = Date.now() / 1000
  utimesSync(path, now, now)
  expect(isAlive(in_another_namespace, path)).toBe(true)
  utimesSync(path, now - 60, now - 60)
  expect(isAlive(in_another_namespace, path)).toBe(false)
})

test('a process of another boot is dead, and so is one without a file', () => {
  touched(0)
  expect(isAlive('another-boot/pid:[1]/1/1', path)).toBe(false)
  expect(isAlive(in_another_namespace, join(directory, 'none'))).toBe(false)
})
