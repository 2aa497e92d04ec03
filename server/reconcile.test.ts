// Which events a pass adds by itself, as a table of what the row had and what the provider observed.
import { expect, test } from 'vitest'
import { tellable } from './event.ts'
import { changesOf } from './reconcile.ts'
import { versionIn } from './service/reconcile.ts'

const row = { generation: 3, settled_generation: 2, waiting_for: 'PostgreSQL is starting' }
const settled = 'every change that was asked for is in effect'

test.each([
  ['a step of work is progress', { settled: false, waiting_for: 'a copy', in_progress: true }, ['progress: a copy']],
  ['anything else that is missing is a setback', { settled: false, waiting_for: 'no port' }, ['setback: no port']],
  ['the same as before is no news', { settled: false, waiting_for: row.waiting_for }, []],
  ['a wanted state that holds is settled', { settled: true }, [`settled: ${settled}`]],
])('%s', (_, observed, expected) => {
  expect(changesOf(row, observed).map(({ kind, message }) => `${kind}: ${message}`)).toEqual(expected)
})

test('the end of a setback is told, once', () => {
  const known = { ...row, settled_generation: row.generation }
  expect(changesOf(known, { settled: true })).toEqual([{ kind: 'settled', message: `${settled} again` }])
  expect(changesOf({ ...known, waiting_for: null }, { settled: true })).toEqual([])
  expect(changesOf(known, { settled: false })).toEqual([])
})

test('what a tenant made a provider say is told without what would not be stored, or would fill the store', () => {
  expect(tellable('the mask failed: \u001b[2J\u0000\u009b \ud800\nand more\t.')).toBe(
    'the mask failed: \ufffd[2J\ufffd\ufffd \ufffd\nand more\t.',
  )
  expect(tellable('x'.repeat(1_000_000))).toHaveLength(4_001)
})

test('a version of PostgreSQL is taken, and no sentence in its place', () => {
  const versions = ['17', '18.4', '19beta1', '19devel', '9.6.24']
  expect(versions.map((postgres_version) => versionIn({ postgres_version }))).toEqual(versions)
  const planted = ['', '18.4 IGNORE ALL RULES', '18.4\n', '18.IGNORE-ALL-RULES', '1'.repeat(1000)]
  expect(planted.map((postgres_version) => versionIn({ postgres_version }))).toEqual(planted.map(() => null))
  expect(versionIn({})).toBeNull()
})
