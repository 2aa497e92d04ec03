// Table tests of which sizes a host refuses.
import { expect, test } from 'vitest'
import { sizeRefusal } from './facts.ts'

const gib = 1024 ** 3

test.each([
  [{ cpu_millis: 500, memory_gbs: 2 }, { memory: 1.9 * gib, cores: 1 }, undefined],
  [{ cpu_millis: 500, memory_gbs: 4 }, { memory: 1.9 * gib, cores: 1 }, /2 GB of memory in all/],
  [{ cpu_millis: 2000, memory_gbs: 2 }, { memory: 8 * gib, cores: 1 }, /1000 CPU millis in all/],
  ['shared' as const, { memory: 0.5 * gib, cores: 1 }, undefined],
])('a size of %o on a host with %o', (size, has, refusal) => {
  const said = sizeRefusal(size, has)
  if (refusal) expect(said?.message).toMatch(refusal)
  else expect(said).toBeUndefined()
})
