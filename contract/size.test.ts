// The sizes: what names one, what names none.
import { expect, test } from 'vitest'
import { default_size, parseSize, sizeProblem } from './size.ts'

test.each([
  [{}, default_size],
  [
    { cpu_millis: '500', memory_gbs: '2' },
    { cpu_millis: 500, memory_gbs: 2 },
  ],
  [{ cpu_millis: '1000' }, { cpu_millis: 1000, memory_gbs: 4 }],
  [{ cpu_millis: 1000 }, { cpu_millis: 1000, memory_gbs: 4 }],
  [{ cpu_millis: 500, memory_gbs: '2' }, default_size],
  [{ memory_gbs: '8' }, { cpu_millis: 2000, memory_gbs: 8 }],
  [{ cpu_millis: 'shared' }, 'shared'],
  [{ memory_gbs: 'shared' }, 'shared'],
  [{ cpu_millis: 'shared', memory_gbs: 'shared' }, 'shared'],
  [{ cpu_millis: 'shared', memory_gbs: '2' }, undefined],
  [{ cpu_millis: '500', memory_gbs: '4' }, undefined],
  [{ cpu_millis: '0500' }, undefined],
  [{ cpu_millis: '' }, undefined],
  [{ cpu_millis: '-500' }, undefined],
  [{ cpu_millis: '5e2' }, undefined],
])('%j names %j', (input, size) => {
  expect(parseSize(input, default_size, true)).toEqual(size)
})

test('a service that exists cannot become shared', () => {
  expect(parseSize({ cpu_millis: 'shared', memory_gbs: 'shared' }, default_size, false)).toBeUndefined()
})

test('the problem names the members that were given, and every pair', () => {
  const pairs = '500/2, 1000/4, 2000/8, 4000/16, 8000/32, 16000/64, 32000/128'
  expect(sizeProblem({ memory_gbs: '3' }, true)).toEqual({
    path: '/memory_gbs',
    message: `is not that of a size; the sizes are ${pairs}, shared/shared (cpu_millis/memory_gbs)`,
  })
  expect(sizeProblem({ cpu_millis: 3 }, false)).toEqual({
    path: '/cpu_millis',
    message: `is not that of a size; the sizes are ${pairs} (cpu_millis/memory_gbs)`,
  })
  expect(sizeProblem({ cpu_millis: '500', memory_gbs: '3' }, false)).toEqual({
    path: '/cpu_millis',
    message: `is no size together with /memory_gbs; the sizes are ${pairs} (cpu_millis/memory_gbs)`,
  })
})
