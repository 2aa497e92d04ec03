// Which services count as growing, by files that are really there.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { nodeOf } from '../host/layout.ts'
import { newGrowth } from './growth.ts'

const mib = 1024 ** 2
let directory: string

beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'growth-'))
})
afterEach(() => rmSync(directory, { recursive: true }))

test.each([
  { what: 'a table that grows', path: 'data/base/1', mb: 2, is_busy: true, grows: true },
  { what: 'a log that grows', path: 'log/1', mb: 2, is_busy: true, grows: true },
  { what: 'an archive that grows', path: 'archive/1', mb: 16, is_busy: true, grows: true },
  { what: 'less than background writers write', path: 'data/base/1', mb: 0.5, is_busy: true, grows: false },
  { what: 'its next WAL file', path: 'data/pg_wal/1', mb: 16, is_busy: true, grows: false },
  { what: 'more WAL than one file', path: 'data/pg_wal/1', mb: 18, is_busy: true, grows: true },
  { what: 'files without any work', path: 'data/base/1', mb: 2, is_busy: false, grows: false },
])('a service with $what grows: $grows', async ({ path, mb, is_busy, grows }) => {
  const node = nodeOf(directory, 'abc', 20_001, false)
  for (const folder of ['data/base', 'data/pg_wal', 'log', 'archive']) {
    mkdirSync(join(node.home, folder), { recursive: true })
  }
  let cpu_ns = 0
  const growth = newGrowth(() => cpu_ns)
  const ask = async (work_ns: number) => {
    cpu_ns += work_ns
    return await growth.growing([{ node, pid: 1 }])
  }
  // The first answer remembers processor times, the second one sizes.
  await ask(0)
  expect(await ask(10_000_000)).toEqual([])
  writeFileSync(join(node.home, path), Buffer.alloc(mb * mib, 1))
  expect(await ask(is_busy ? 10_000_000 : 0)).toEqual(grows ? [node] : [])
})
