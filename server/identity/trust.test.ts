// Answers that are believed for a moment, by a clock of the test's own.
import { expect, test } from 'vitest'
import { type Found, newTrust } from './trust.ts'

function newTrial() {
  let ms = 0
  let looks = 0
  const trust = newTrust<string>(() => ms)
  const ask = (answer: Found<string> | undefined) =>
    trust.ask('key', async () => {
      looks += 1
      return answer
    })
  return { trust, ask, pass: (more_ms: number) => void (ms += more_ms), looks: () => looks }
}

test('an answer is believed for three seconds and then asked for again', async () => {
  const { ask, pass } = newTrial()
  expect(await ask({ value: 'first' })).toBe('first')
  pass(2_999)
  expect(await ask({ value: 'second' })).toBe('first')
  pass(1)
  expect(await ask({ value: 'third' })).toBe('third')
})

test('an answer that ends sooner is believed no longer than that', async () => {
  const { ask, pass } = newTrial()
  expect(await ask({ value: 'first', until: new Date(Date.now() + 1_000) })).toBe('first')
  pass(1_001)
  expect(await ask({ value: 'second' })).toBe('second')
})

test('questions at the same time share one look', async () => {
  const { ask, looks } = newTrial()
  expect(await Promise.all([ask({ value: 'a' }), ask({ value: 'b' }), ask({ value: 'c' })])).toEqual(['a', 'a', 'a'])
  expect(looks()).toBe(1)
})

test('that there is nothing is not remembered, nor is a failure', async () => {
  const { trust, ask } = newTrial()
  expect(await ask(undefined)).toBeUndefined()
  const away = new Error('the store is away')
  await expect(trust.ask('key', () => Promise.reject(away))).rejects.toBe(away)
  expect(await ask({ value: 'now' })).toBe('now')
})

test('to forget drops also what is being asked at that moment', async () => {
  const { trust, ask } = newTrial()
  let answer: (found: Found<string>) => void = () => undefined
  const slow = trust.ask('key', () => new Promise((resolve) => (answer = resolve)))
  trust.forget()
  const fresh = ask({ value: 'fresh' })
  answer({ value: 'stale' })
  expect([await slow, await fresh, await ask({ value: 'other' })]).toEqual(['stale', 'fresh', 'fresh'])
})
