// Table tests of the lists for which commits wait: what follows on what, and that no step asks for less than promised.
import { expect, test } from 'vitest'
import type { SyncList } from './quorum.ts'
import { haveEnough, haveSent, namesOf, nextListOf, parseLists, textOf } from './synchronous.ts'

const no_members: SyncList = { members: [], sync_count: 0 }
const list = (sync_count: number, ...members: number[]): SyncList => ({ members, sync_count })

test.each([
  ['nothing is waited for before a replica streams', no_members, [0, 1], 1, [], no_members],
  ['a replica is waited for as soon as it streams', no_members, [0, 1], 1, [1], list(1, 0, 1)],
  ['of several, those that stream', no_members, [0, 1, 2], 2, [2], list(1, 0, 2)],
  ['one more', list(1, 0, 2), [0, 1, 2], 2, [1, 2], list(2, 0, 1, 2)],
  ['an unreachable replica stays', list(1, 0, 1), [0, 1], 1, [], list(1, 0, 1)],
  ['a replica that is not wanted any more is removed', list(1, 0, 1, 2), [0, 1], 1, [1, 2], list(1, 0, 1)],
  ['but not before another replica streams', list(1, 0, 3), [0, 1], 1, [3], list(1, 0, 3)],
  ['when less is wanted, at once', list(2, 0, 1, 2), [0, 1, 2], 1, [], list(1, 0, 1, 2)],
  ['when none is wanted, at once', list(1, 0, 1), [0, 1], 0, [], no_members],
] as const)('%s', (_, current, nodes, sync_count, streaming, next) => {
  expect(nextListOf(current, { primary: 0, nodes, sync_count, streaming })).toEqual(next)
})

test('whatever streams, no step asks for fewer than before, unless fewer are wanted', () => {
  const subsets = (numbers: readonly number[]): number[][] =>
    numbers.reduce<number[][]>((all, one) => [...all, ...all.map((some) => [...some, one])], [[]])
  let count = 0
  for (const members of subsets([1, 2, 3]).map((some) => [0, ...some])) {
    for (let promised = 0; promised < members.length; promised += 1) {
      const current = promised === 0 ? no_members : { members, sync_count: promised }
      for (const standbys of subsets([1, 2, 3])) {
        for (const streaming of subsets(standbys)) {
          for (let sync_count = 0; sync_count <= standbys.length; sync_count += 1) {
            const next = nextListOf(current, { primary: 0, nodes: [0, ...standbys], sync_count, streaming })
            expect(next.sync_count).toBeGreaterThanOrEqual(Math.min(promised, sync_count))
            expect(next.sync_count).toBeLessThanOrEqual(sync_count)
            expect(next.members.filter((node) => node !== 0).length).toBeGreaterThanOrEqual(next.sync_count)
            for (const node of next.members) {
              expect([0, ...streaming, ...current.members]).toContain(node)
            }
            count += 1
          }
        }
      }
    }
  }
  expect(count).toBeGreaterThan(1000)
})

test('the file has every list that may be in force, that of the setting last', () => {
  const lists = [no_members, list(1, 0, 1), list(2, 0, 1, 2)]
  const text = textOf(lists)
  expect(parseLists(text)).toEqual(lists)
  expect(text.split('\n').filter((line) => line !== '' && !line.startsWith('#'))).toEqual([
    `synchronous_standby_names = 'ANY 2 (node_0, node_1, node_2)'`,
  ])
  expect(namesOf(no_members)).toBe('')
})

test.each<[string, boolean, [string, bigint][]]>([
  [
    'two replicas',
    true,
    [
      ['node_1', 100n],
      ['node_2', 100n],
    ],
  ],
  [
    'one of them is behind',
    false,
    [
      ['node_1', 100n],
      ['node_2', 99n],
    ],
  ],
  [
    'one is connected twice',
    false,
    [
      ['node_1', 100n],
      ['node_1', 100n],
    ],
  ],
  [
    'one is no member',
    false,
    [
      ['node_1', 100n],
      ['node_4', 100n],
    ],
  ],
  [
    'one is the primary',
    false,
    [
      ['node_1', 100n],
      ['node_0', 100n],
    ],
  ],
])('a position is safe with two replicas that have it: %s', (_, enough, senders) => {
  const observed = senders.map(([name, flushed]) => ({ name, flushed }))
  expect(haveEnough(observed, list(2, 0, 1, 2), 0, 100n)).toBe(enough)
})

test.each<[string, boolean, [string, bigint][]]>([
  [
    'all have sent it',
    true,
    [
      ['node_1', 100n],
      ['node_2', 101n],
    ],
  ],
  [
    'one has not, though enough have',
    false,
    [
      ['node_1', 100n],
      ['node_2', 99n],
    ],
  ],
  [
    'one of a replica that connected again has not',
    false,
    [
      ['node_1', 99n],
      ['node_1', 100n],
    ],
  ],
  [
    'one has not that is no member',
    true,
    [
      ['node_1', 100n],
      ['node_4', 0n],
    ],
  ],
  ['a member has none any more', true, [['node_1', 100n]]],
])('walsenders acknowledge no more by an earlier list once they have sent newer WAL: %s', (_, is_safe, senders) => {
  const observed = senders.map(([name, sent]) => ({ name, sent }))
  expect(haveSent(observed, [0, 1, 2], 100n)).toBe(is_safe)
})
