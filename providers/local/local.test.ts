// Table tests of what the provider offers and refuses.
import { expect, test } from 'vitest'
import { refusalOf } from './local.ts'

const gib = 1024 ** 3
const installations = [
  { bin: '/pg/bin', version: '18.4', major: 18, extensions: new Set(['hstore']), origin: 'bundled' as const },
]

test.each([
  [{ cpu_millis: 500, memory_gbs: 2 }, { memory: 1.9 * gib, cores: 1 }, undefined],
  [{ cpu_millis: 500, memory_gbs: 4 }, { memory: 1.9 * gib, cores: 1 }, /2 GB of memory in all/],
  [{ cpu_millis: 2000, memory_gbs: 2 }, { memory: 8 * gib, cores: 1 }, /1000 CPU millis in all/],
  ['shared' as const, { memory: 0.5 * gib, cores: 1 }, undefined],
])('a size of %o on a host with %o', (size, has, refusal) => {
  const said = refusalOf({ size, extensions: [] }, installations, has)
  if (refusal) expect(said).toMatch(refusal)
  else expect(said).toBeUndefined()
})

test('an extension that no installation has is refused by name', () => {
  const has = { memory: 8 * gib, cores: 2 }
  expect(refusalOf({ size: 'shared', extensions: ['hstore'] }, installations, has)).toBeUndefined()
  expect(refusalOf({ size: 'shared', extensions: ['vector'] }, installations, has)).toMatch(/vector/)
})
