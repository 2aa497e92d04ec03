// The names of WAL files, and which files are WAL, as tables.
import { mkdtempSync, rmSync, truncateSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { segmentNameOf, segmentNumberAt, segmentNumberOf } from '../../postgres/lsn.ts'
import { archiveAt, listSegments, timelineOf, walPositionOf } from './wal.ts'

const bytes = 16 * 1024 * 1024

test.each([
  [1, 0x28n, '000000010000000000000000'],
  [1, 0x2000028n, '000000010000000000000002'],
  [3, 0x1_ff000000n, '0000000300000001000000FF'],
  [0x1f, 0x2_00000000n, '0000001F0000000200000000'],
])('on timeline %i the position %i is in %s', (timeline, position, name) => {
  const number = segmentNumberAt(position, bytes)
  expect(segmentNameOf(timeline, number, bytes)).toBe(name)
  expect(segmentNumberOf(name, bytes)).toBe(number)
  expect(timelineOf(name)).toBe(timeline)
})

test('the position does not depend on the timeline, and orders the files', () => {
  expect(walPositionOf('000000010000000000000002')).toBe(walPositionOf('000000090000000000000002'))
  expect(walPositionOf('0000000100000000000000FF') < walPositionOf('000000010000000100000000')).toBe(true)
})

const mib = 1024 ** 2

test.each([
  ['of a size that clusters have', 8 * mib, 8 * mib, true],
  ['of the size that clusters of former versions have', 16 * mib, 16 * mib, true],
  ['of which the end is missing', 8 * mib, 4 * mib, true],
  ['that is larger than its header says', 8 * mib, 8 * mib + 1, false],
  ['whose header says more than PostgreSQL writes', 2 ** 31, 8 * mib, false],
  ['whose header says no size that PostgreSQL has', 8 * mib - 1, 8 * mib, false],
])('a file %s: whether it is a segment', async (_, said_bytes, file_bytes, is_segment) => {
  const folder = mkdtempSync(join(tmpdir(), 'howdah-wal-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const name = '000000010000000000000001'
  const header = Buffer.alloc(40)
  header.writeBigUInt64LE(BigInt(said_bytes), 8)
  header.writeUInt32LE(said_bytes, 32)
  writeFileSync(join(folder, name), header)
  truncateSync(join(folder, name), file_bytes)
  const found = await listSegments(archiveAt(folder))
  expect(found).toEqual(is_segment ? [{ name, number: 1, bytes: said_bytes }] : [])
})
