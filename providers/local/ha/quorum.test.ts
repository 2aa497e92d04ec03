// Elections over whole products of what can be: every set of replicas that had a commit, every set that can be asked.
import { describe, expect, test } from 'vitest'
import { comparePositions, electionOf, type ObservedNode, type SyncList } from './quorum.ts'

const at = (lsn: number, timeline = 1) => ({ timeline, lsn: BigInt(lsn) })

/** Every subset of the nodes. */
function subsetsOf(numbers: readonly number[]): number[][] {
  return numbers.reduce<number[][]>((sets, node) => [...sets, ...sets.map((set) => [...set, node])], [[]])
}

describe('with synchronous replicas', () => {
  const cases = [1, 2, 3, 4, 5].flatMap((count) =>
    Array.from({ length: count }, (_, index) => ({ count, sync_count: index + 1 })),
  )

  test.each(cases)(
    'of $count replicas, $sync_count of them synchronous, the one elected always has every acknowledged commit',
    ({ count, sync_count }) => {
      const numbers = Array.from({ length: count + 1 }, (_, node) => node)
      const lists: SyncList[] = [{ members: numbers, sync_count }]
      for (const primary of numbers) {
        const standbys = numbers.filter((node) => node !== primary)
        for (const has of subsetsOf(standbys).filter((set) => set.length >= sync_count)) {
          for (const visible of subsetsOf(standbys)) {
            const observed: ObservedNode[] = numbers.map((node) => ({
              node,
              // The lost primary itself is never counted, however far it is.
              position: node === primary ? at(99) : visible.includes(node) ? at(has.includes(node) ? 7 : 3) : undefined,
            }))
            const election = electionOf({ primary, lists, observed })
            expect('elect' in election).toBe(visible.length >= count - sync_count + 1)
            if ('elect' in election) expect(has).toContain(election.elect)
          }
        }
      }
    },
  )

  test('while one list replaces another, a commit under either of them is safe', () => {
    const small = { members: [0, 1], sync_count: 1 }
    const large = { members: [0, 1, 2, 3], sync_count: 2 }
    for (const lists of [
      [small, large],
      [large, small],
    ]) {
      for (const visible of subsetsOf([1, 2, 3])) {
        const observed = visible.map((node) => ({ node, position: at(5) }))
        const enough = visible.includes(1) && visible.length >= 2
        expect('elect' in electionOf({ primary: 0, lists, observed })).toBe(enough)
      }
    }
  })

  test('the reason to wait names how many are needed and how many answer', () => {
    const lists = [{ members: [0, 1, 2, 3], sync_count: 1 }]
    const election = electionOf({ primary: 0, lists, observed: [{ node: 2, position: at(5) }] })
    expect(election).toEqual({
      wait: '3 of its 3 replicas must answer before one is elected, and 1 can',
    })
  })

  test('a list that asks for more than there are never lets an unseen service elect', () => {
    const lists = [{ members: [0, 1], sync_count: 3 }]
    expect(electionOf({ primary: 0, lists, observed: [] })).toHaveProperty('wait')
  })
})

describe('without synchronous replicas', () => {
  const cases: { observed: ObservedNode[]; elect: number | undefined }[] = [
    { observed: [], elect: undefined },
    { observed: [{ node: 0, position: at(9) }], elect: undefined },
    { observed: [{ node: 1 }], elect: undefined },
    { observed: [{ node: 2, position: at(3) }], elect: 2 },
    {
      observed: [
        { node: 2, position: at(3) },
        { node: 1, position: at(3) },
      ],
      elect: 1,
    },
    {
      observed: [
        { node: 1, position: at(3) },
        { node: 2, position: at(4) },
      ],
      elect: 2,
    },
    {
      observed: [
        { node: 1, position: at(8, 1) },
        { node: 2, position: at(4, 2) },
      ],
      elect: 2,
    },
    {
      observed: [{ node: 1, position: at(2 ** 40) }, { node: 2, position: at(2 ** 40 + 1) }, { node: 3 }],
      elect: 2,
    },
  ]
  test.each(cases)('$#: the furthest that can be asked is elected, of equals the first', ({ observed, elect }) => {
    for (const lists of [[], [{ members: [0, 1, 2], sync_count: 0 }]]) {
      const election = electionOf({ primary: 0, lists, observed })
      expect('elect' in election ? election.elect : undefined).toBe(elect)
    }
  })
})

test('a later timeline is further than any position on an earlier one', () => {
  expect(comparePositions(at(1, 2), at(100, 1))).toBeGreaterThan(0)
  expect(comparePositions(at(1, 1), at(1, 1))).toBe(0)
  expect(comparePositions(at(1, 1), at(2, 1))).toBeLessThan(0)
})
