// Which files a run leaves out: three quarters of those that last long, none where its command names files, each of them a file that there is.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { leftOut, long_faults } from './draw.ts'

afterEach(() => vi.unstubAllEnvs())

test('each is a file', () => {
  const root = join(import.meta.dirname, '..', '..')
  expect(long_faults.filter((file) => !existsSync(join(root, file)))).toEqual([])
})

test('a run takes a quarter of them, the same for the same seed, and in some run each is taken', () => {
  const left = process.env['TEST_ALL'] === undefined ? Math.floor((long_faults.length * 3) / 4) : 0
  const always = Array.from({ length: 30 }, (_, seed) => {
    vi.stubEnv('TEST_SEED', String(seed))
    expect(leftOut(['run', '--reporter=dot'])).toHaveLength(left)
    expect(leftOut(['run'])).toEqual(leftOut(['run']))
    return leftOut(['run'])
  })
  expect(long_faults.filter((file) => always.every((left_out) => left_out.includes(file)))).toEqual([])
})

test('a run that names its files takes them all', () => {
  expect(leftOut(['run', 'test/backup'])).toEqual([])
})
