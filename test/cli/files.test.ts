// The files of a user: a lock that its command left is taken over by one command, and that of a slow command by none; what is no file stays.
import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { lock_beat_ms, saveText, withLock } from '#cli/user/files.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { until } from '#test/until.ts'

const long_ago = new Date('2026-01-01T00:00:00Z')
let folder = ''

beforeEach(() => {
  folder = newDataDir()
})

afterEach(() => removeDataDir(folder))

test('of many commands that find the lock of a killed one, one at a time has it, and nothing is left', async () => {
  const file = join(folder, 'file')
  for (let round = 0; round < 5; round += 1) {
    writeFileSync(`${file}.lock`, '')
    utimesSync(`${file}.lock`, long_ago, long_ago)
    let inside = 0
    const most: number[] = []
    const command = () =>
      withLock(file, async () => {
        inside += 1
        most.push(inside)
        await saveText(file, String(round))
        inside -= 1
      })
    await Promise.all(Array.from({ length: 4 }, command))
    expect(Math.max(...most)).toBe(1)
  }
  expect(readdirSync(folder)).toEqual(['file'])
})

test('the lock of a command that takes its time stays young', async () => {
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  try {
    const lock = join(folder, 'file.lock')
    await withLock(join(folder, 'file'), async () => {
      utimesSync(lock, long_ago, long_ago)
      vi.advanceTimersByTime(lock_beat_ms)
      await until(() => statSync(lock).mtimeMs > long_ago.getTime())
    })
  } finally {
    vi.useRealTimers()
  }
})

test('what is no regular file is not replaced by one', async () => {
  const pipe = join(folder, 'pipe')
  execFileSync('mkfifo', [pipe])
  await expect(saveText(pipe, 'text')).rejects.toThrow('is no regular file')
  expect(statSync(pipe).isFIFO()).toBe(true)
})

test('a file that cannot be written is named', async () => {
  const file = join(folder, 'file')
  writeFileSync(file, 'a file')
  await expect(saveText(join(file, 'below'), 'text')).rejects.toThrow(/file\/below cannot be written/)
  await expect(withLock(join(file, 'below'), async () => undefined)).rejects.toThrow(/file\/below cannot be written/)
  expect(readFileSync(file, 'utf8')).toBe('a file')
})
