// A copy that cannot share blocks ends before it takes the space that is left to the databases, however large its files are and
// however many are under way. Needs a small disk, so a root that may mount.
import { mkdirSync, mkdtempSync, readdirSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { copyTree } from '#providers/local/host/copy-tree.ts'
import { freeMb, mib, mountDisk, unmountDisk, whySkipped } from '#test/disk.ts'

const directory = mkdtempSync(join(tmpdir(), 'howdah-copy-room-'))
const disk = join(directory, 'disk')
const from = join(directory, 'from')
/** Room for one tree, beside what is left to others. */
const mounted = mountDisk(disk, 400)
const why = whySkipped(mounted)

beforeAll(() => {
  mkdirSync(from)
  for (const name of ['0', '1']) writeFileSync(join(from, name), Buffer.alloc(50 * mib, 1))
})

afterAll(() => {
  if (mounted) unmountDisk(disk)
  rmSync(directory, { recursive: true, force: true })
})

describe.skipIf(why)(`a small disk${why}`, () => {
  test.each([
    ['a tree at rest', { keep_reserve: true }],
    ['a tree that is alive', { keep_reserve: true, tolerate_missing: true }],
  ])('a copy of %s leaves its last space alone', async (_, options) => {
    const [one, other] = [join(disk, 'one'), join(disk, 'other')]
    const seen = [freeMb(disk)]
    const timer = setInterval(() => seen.push(freeMb(disk)), 1)
    // Two at once, each of which fits, and not both.
    const copies = await Promise.allSettled([copyTree(from, one, options), copyTree(from, other, options)])
    clearInterval(timer)
    for (const copy of copies) expect(copy).toMatchObject({ status: 'rejected', reason: { code: 'ENOSPC' } })
    for (const path of [one, other]) rmSync(path, { recursive: true })
    expect(Math.min(...seen)).toBeGreaterThan(220)
    // Space is given back with the copies that ended.
    expect(await copyTree(from, one, options)).toBe(100 * mib)
    rmSync(one, { recursive: true })
  })

  test('a copy that does not fit is not begun; what it leaves out does not count', async () => {
    const larger = join(directory, 'larger')
    mkdirSync(larger)
    // As large as they are read, whatever they take.
    for (const name of ['0', '1']) {
      writeFileSync(join(larger, name), '')
      truncateSync(join(larger, name), 100 * mib)
    }
    const [copy, begun] = [join(disk, 'copy'), () => readdirSync(disk)]
    await expect(copyTree(larger, copy, { keep_reserve: true })).rejects.toMatchObject({ code: 'ENOSPC' })
    expect(begun()).toEqual([])
    expect(await copyTree(larger, copy, { keep_reserve: true, skip: (path) => path === '1' })).toBe(100 * mib)
  })
})
