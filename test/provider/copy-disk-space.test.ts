// A copy that cannot share blocks ends before it takes the space that is left to the databases, however large its files are and
// however many are under way. Needs a small disk, so a root that may mount.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync, statfsSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { copyTree } from '#providers/local/host/copy-tree.ts'

const mib = 1024 ** 2
const directory = mkdtempSync(join(tmpdir(), 'howdah-copy-room-'))
const disk = join(directory, 'disk')
const from = join(directory, 'from')
const mounted = mountDisk()
const why = mounted ? '' : ' (skipped: it takes a root that may mount)'

afterAll(() => {
  if (mounted) execFileSync('umount', ['--lazy', disk])
  rmSync(directory, { recursive: true, force: true })
})

describe.skipIf(why)(`a small disk${why}`, () => {
  test.each([
    ['a tree at rest', { keep_reserve: true }],
    ['a tree that is alive', { keep_reserve: true, tolerate_missing: true }],
  ])('a copy of %s leaves its last space alone', async (_, options) => {
    const [one, other] = [join(disk, 'one'), join(disk, 'other')]
    const seen = [freeBytes()]
    const timer = setInterval(() => seen.push(freeBytes()), 1)
    // Two at once, each of which fits, and not both.
    const copies = await Promise.allSettled([copyTree(from, one, options), copyTree(from, other, options)])
    clearInterval(timer)
    for (const copy of copies) expect(copy).toMatchObject({ status: 'rejected', reason: { code: 'ENOSPC' } })
    for (const path of [one, other]) rmSync(path, { recursive: true })
    expect(Math.min(...seen)).toBeGreaterThan(220 * mib)
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

const freeBytes = () => {
  const { bavail, bsize } = statfsSync(disk)
  return bavail * bsize
}

/** Room for one tree, beside what is left to others. False where this is not permitted. */
function mountDisk(): boolean {
  mkdirSync(disk)
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=400m', 'howdah-test', disk], { stdio: 'ignore' })
  } catch {
    rmSync(directory, { recursive: true })
    return false
  }
  mkdirSync(from)
  for (const name of ['0', '1']) writeFileSync(join(from, name), Buffer.alloc(50 * mib, 1))
  return true
}
