// Reads that are asked together: everybody gets their own answer, to a question asked after they came.
import { expect, test } from 'vitest'
import { newBatch } from './batch.ts'

/** A store whose answers come when the test lets them. */
function newStore() {
  const asked: { keys: readonly string[]; answer(): void; fail(): void }[] = []
  const values = new Map<string, string>()
  const find = newBatch<string>(
    (keys) =>
      new Promise((resolve, reject) => {
        const answer = () => resolve(new Map([...values].filter(([key]) => keys.includes(key))))
        asked.push({ keys, answer, fail: () => reject(new Error('away')) })
      }),
  )
  return { asked, values, find }
}

test('a lone reader is asked for at once', async () => {
  const { asked, values, find } = newStore()
  values.set('a', '1')
  const found = find('a')
  expect(asked.map(({ keys }) => keys)).toEqual([['a']])
  asked[0]?.answer()
  expect(await found).toBe('1')
})

test('those who come while questions are under way are asked for together, each key once', async () => {
  const { asked, values, find } = newStore()
  values.set('a', '1').set('b', '2')
  const found = ['a', 'a', 'b', 'c', 'b'].map(find)
  expect(asked.map(({ keys }) => keys)).toEqual([['a'], ['a']])
  asked[0]?.answer()
  await found[0]
  await expect.poll(() => asked[2]?.keys).toEqual(['b', 'c'])
  asked[1]?.answer()
  asked[2]?.answer()
  expect(await Promise.all(found)).toEqual(['1', '1', '2', undefined, '2'])
})

test('nobody gets the answer to a question that was asked before they came', async () => {
  const { asked, values, find } = newStore()
  const before = [find('a'), find('a')]
  const after = find('a')
  asked[0]?.answer()
  asked[1]?.answer()
  expect(await Promise.all(before)).toEqual([undefined, undefined])
  values.set('a', 'written meanwhile')
  await expect.poll(() => asked.length).toBe(3)
  asked[2]?.answer()
  expect(await after).toBe('written meanwhile')
})

test('a question that fails fails those who asked it, and nobody else', async () => {
  const { asked, values, find } = newStore()
  values.set('a', '1')
  const [first, second] = [find('a'), find('a')]
  asked[0]?.fail()
  asked[1]?.answer()
  await expect(first).rejects.toThrow('away')
  expect(await second).toBe('1')
})
