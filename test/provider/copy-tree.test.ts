// Copying, settling and removing trees on the real file system.
import {
  existsSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  truncateSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { copyTree } from '#providers/local/host/copy-tree.ts'
import { removeTree } from '#providers/local/host/remove-tree.ts'
import { chownTree, syncTree } from '#providers/local/host/tree.ts'
import { until } from '#test/until.ts'

let directory: string
let from: string
let to: string

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'howdah-copy-tree-'))
  from = join(directory, 'from')
  to = join(directory, 'to')
  mkdirSync(join(from, 'base/1'), { recursive: true, mode: 0o755 })
  mkdirSync(join(from, 'empty'))
  writeFileSync(join(from, 'PG_VERSION'), '18\n', { mode: 0o644 })
  writeFileSync(join(from, 'program'), '#!/bin/sh\n', { mode: 0o700 })
  for (let number = 0; number < 100; number++) writeFileSync(join(from, 'base/1', `${number}`), `content of ${number}`)
  symlinkSync('../PG_VERSION', join(from, 'base/link'))
})

afterEach(() => rmSync(directory, { recursive: true, force: true }))

const listing = (path: string) => readdirSync(path, { recursive: true, encoding: 'utf8' }).toSorted()
const modeOf = (path: string) => (lstatSync(join(to, path)).mode & 0o777).toString(8)

test.each([
  ['a file of holes that is longer than the disk', () => longFile('base/1/hole'), 'from/base/1/hole'],
  ['such a file in the directory itself', () => longFile('hole'), 'from/hole'],
  ['folders that are deeper than any of PostgreSQL', () => deepFolders(), 'deeper than any folder'],
])('%s of a service’s user end a copy', async (_, make, words) => {
  unlinkSync(join(from, 'base/link'))
  make()
  await expect(copyTree(from, to, { of_tenant: 'in its reach' })).rejects.toThrow(words)
})

function longFile(path: string): void {
  writeFileSync(join(from, path), '')
  truncateSync(join(from, path), 15 * 1024 ** 4)
}

function deepFolders(): void {
  mkdirSync(join(from, 'base', ...Array<string>(40).fill('d')), { recursive: true })
}

test('others have their turn while a copy of many small files goes on', async () => {
  for (let number = 100; number < 1_000; number++) writeFileSync(join(from, 'base/1', `${number}`), '')
  const copied = () => readdirSync(join(to, 'base', '1')).length
  const seen = new Set<number>()
  const timer = setInterval(() => existsSync(join(to, 'base', '1')) && seen.add(copied()), 1)
  await copyTree(from, to, { tolerate_missing: true })
  clearInterval(timer)
  expect([...seen].filter((count) => count > 100 && count < copied() - 100)).not.toEqual([])
})

test('a copy is private whatever the source was', async () => {
  await copyTree(from, to)
  expect(['', 'base', 'base/1', 'empty'].map(modeOf)).toEqual(['700', '700', '700', '700'])
  expect(['PG_VERSION', 'program', 'base/1/1'].map(modeOf)).toEqual(['600', '600', '600'])
})

test('a public copy can be read by every user, and run where its owner could', async () => {
  await copyTree(from, to, { public: true })
  expect(['', 'base', 'PG_VERSION', 'program'].map(modeOf)).toEqual(['755', '755', '644', '755'])
})

test('an existing target is refused and left as it is', async () => {
  mkdirSync(to)
  await expect(copyTree(from, to)).rejects.toMatchObject({ code: 'EEXIST' })
  expect(listing(to)).toEqual([])
})

test('what is skipped is left out with all below it', async () => {
  await copyTree(from, to, { skip: (path) => path === 'base/1' || path === 'program' })
  expect(listing(to)).toEqual(['PG_VERSION', 'base', 'base/link', 'empty'])
})

test('a file that vanishes while copying is an error, unless the caller knows that the tree is alive', async () => {
  const vanishing = (path: string) => {
    if (path === 'PG_VERSION') unlinkSync(join(from, path))
    return false
  }
  await expect(copyTree(from, to, { skip: vanishing })).rejects.toMatchObject({ code: 'ENOENT' })
  await removeTree(to)
  writeFileSync(join(from, 'PG_VERSION'), '18\n')
  await copyTree(from, to, { skip: vanishing, tolerate_missing: true })
  expect(listing(to)).toEqual(listing(from))
})

test.each([
  ['before it is entered', 'base'],
  ['with a folder that is not entered yet', 'base/1'],
])('the owner of the tree cannot lead the copy out of it: a folder becomes a link %s', async (_, moment) => {
  const swap = newSwap()
  const skip = (path: string) => {
    if (path === moment) swap()
    return false
  }
  await copyTree(from, to, { skip, tolerate_missing: true }).catch(() => undefined)
  expect(readdirSync(directory)).toContain('outside')
  expect(textsIn(to)).not.toContain('secret')
})

/** Each call lets the tree's owner put a link to what is not theirs where a folder was. */
function newSwap() {
  const outside = join(directory, 'outside')
  return () => {
    mkdirSync(join(outside, '1'), { recursive: true })
    for (let number = 0; number < 100; number++) writeFileSync(join(outside, '1', `${number}`), 'secret')
    renameSync(join(from, 'base'), join(from, 'away'))
    symlinkSync(outside, join(from, 'base'))
  }
}

function textsIn(path: string): string[] {
  const copied = readdirSync(path, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile())
  return copied.map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8'))
}

test('a tree can be made durable, also where there is no sync program', async () => {
  await syncTree(from)
  const path = process.env.PATH
  process.env.PATH = join(directory, 'empty')
  try {
    await syncTree(from)
  } finally {
    process.env.PATH = path
  }
})

test('removing takes the whole tree, follows no link, and is content when nothing is there', async () => {
  mkdirSync(to)
  writeFileSync(join(to, 'kept'), '')
  symlinkSync(to, join(from, 'link-out'))
  await removeTree(from)
  expect(listing(directory)).toEqual(['to', 'to/kept'])
  await removeTree(from)
})

test('a tree that several remove at once is removed, and none of them fails', async () => {
  for (let number = 0; number < 200; number += 1) mkdirSync(join(from, `${number}/a/b/c`), { recursive: true })
  await Promise.all([removeTree(from), removeTree(from), removeTree(from)])
  expect(listing(directory)).toEqual([])
})

const not_root = process.getuid?.() === 0 ? '' : ' (skipped: only root can give files away)'

test('a copy has the same entries, the same contents and the same links', async () => {
  writeFileSync(join(from, 'base/1/large'), 'large'.repeat(100_000))
  const bytes = await copyTree(from, to)
  expect(listing(to)).toEqual(listing(from))
  expect(readFileSync(join(to, 'base/1/42'), 'utf8')).toBe('content of 42')
  expect(readFileSync(join(to, 'base/1/large'), 'utf8')).toBe('large'.repeat(100_000))
  expect(lstatSync(join(to, 'base/link')).isSymbolicLink()).toBe(true)
  expect(readFileSync(join(to, 'base/link'), 'utf8')).toBe('18\n')
  expect(bytes).toBe(textsIn(to).join('').length)
})

test.skipIf(not_root)(`all in a copy belongs to its new owner${not_root}`, async () => {
  await copyTree(from, to, { owner: { uid: 70_001, gid: 70_002 } })
  // Its root is for the caller to hand over, and links are copied of our own trees only.
  expect(lstatSync(to).uid).toBe(0)
  const owners = listing(to)
    .filter((path) => path !== 'base/link')
    .map((path) => {
      const { uid, gid } = lstatSync(join(to, path))
      return `${uid}:${gid}`
    })
  expect(new Set(owners)).toEqual(new Set(['70001:70002']))
  expect(lstatSync(join(from, 'PG_VERSION')).uid).toBe(0)
})

test.skipIf(not_root)(`a tree is handed over a few files at a time, with turns for other work${not_root}`, async () => {
  for (let number = 100; number < 2_000; number++) writeFileSync(join(from, 'base/1', `${number}`), '')
  const ownersIn = () =>
    new Set(readdirSync(join(from, 'base/1')).map((name) => lstatSync(join(from, 'base/1', name)).uid))
  const begun = chownTree(join(from, 'base/1'), { uid: 70_001, gid: 70_001 })
  expect(ownersIn()).toContain(0)
  await begun
  expect(ownersIn()).toEqual(new Set([70_001]))
})

test('the owner of the tree cannot lead the copy out of it: a folder becomes a link before its files are copied', async () => {
  const swap = newSwap()
  let steps = 0
  // Before each file it is asked whether to go on: the third is the first of base/1, which is open by then.
  const signal = Object.assign(new AbortController().signal, {
    throwIfAborted: () => void ((steps += 1) === 3 && swap()),
  })
  await copyTree(from, to, { signal, tolerate_missing: true }).catch(() => undefined)
  expect(readdirSync(directory)).toContain('outside')
  expect(textsIn(to)).not.toContain('secret')
})

test('a copy that is broken off goes no further, and nothing of it goes on', async () => {
  const caller = new AbortController()
  const skip = (path: string) => {
    if (path.startsWith('base/1/')) caller.abort(new Error('enough'))
    return false
  }
  await expect(copyTree(from, to, { skip, signal: caller.signal })).rejects.toThrow('enough')
  expect(existsSync(join(to, 'base/1/42'))).toBe(false)
})

test('a copy that is broken off ends within a large file', async () => {
  const bytes = 256 * 1024 ** 2
  truncateSync(join(from, 'program'), bytes)
  // A file system of its own: no blocks are shared with it.
  const memory = await mkdtemp('/dev/shm/howdah-copy-tree-')
  const sizeOf = () => lstatSync(join(memory, 'to/program'), { throwIfNoEntry: false })?.size ?? 0
  const caller = new AbortController()
  try {
    const copy = copyTree(from, join(memory, 'to'), { signal: caller.signal }).catch((error: unknown) => error)
    await until(() => sizeOf() > 0, { interval_ms: 1 })
    caller.abort(new Error('enough'))
    expect(await copy).toEqual(new Error('enough'))
    expect(sizeOf()).toBeLessThan(bytes)
  } finally {
    await removeTree(memory)
  }
})

test('a file that cannot be copied fails the copy in the words of the system', async () => {
  const skip = (path: string) => {
    // Something else is where the copy is about to be.
    if (path === 'base/1/42') mkdirSync(join(to, path))
    return false
  }
  await expect(copyTree(from, to, { skip })).rejects.toMatchObject({ code: 'EISDIR' })
})
