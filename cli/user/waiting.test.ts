// When a wait is over.
import { expect, test } from 'vitest'
import type { Service } from '#contract/service.ts'
import { unlessHealing } from './waiting.ts'

test.each<[string, [Service['status'], number][], boolean]>([
  ['a service that serves', [['READY', 0]], true],
  ['a service that does not serve', [['UNSTABLE', 0]], false],
  [
    'a service that is healed',
    [
      ['UNSTABLE', 0],
      ['READY', 1_000],
    ],
    true,
  ],
  [
    'a service that stays as it is',
    [
      ['UNSTABLE', 0],
      ['UNSTABLE', 10_000],
    ],
    true,
  ],
  [
    'a service that does not serve again',
    [
      ['UNSTABLE', 0],
      ['READY', 5_000],
      ['UNSTABLE', 10_000],
    ],
    false,
  ],
])('the wait for %s is over or not', (_what, reads, is_over) => {
  const isOver = unlessHealing(() => true)
  // The member of a service that is read here.
  const answers = reads.map(([status, elapsed_ms]) => isOver({ status } as Service, elapsed_ms))
  expect(answers.at(-1)).toBe(is_over)
})
