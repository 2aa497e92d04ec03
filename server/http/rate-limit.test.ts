// The buckets by a clock of the test's own: what passes, what waits and for how long, and that memory stays bounded.
import { expect, test } from 'vitest'
import { loadConfig } from '../config.ts'
import { addressKey, newRateLimit, newRateLimits } from './rate-limit.ts'

function newClock() {
  let ms = 0
  return { now: () => ms, pass: (seconds: number) => void (ms += seconds * 1000) }
}

test('a burst passes, then as many as flow in, and each key has its own', () => {
  const clock = newClock()
  const limit = newRateLimit({ per_second: 2, burst: 3 }, clock.now)
  expect([1, 2, 3, 4].map(() => limit.take('a'))).toEqual([0, 0, 0, 1])
  expect(limit.take('b')).toBe(0)
  clock.pass(0.5)
  expect([1, 2].map(() => limit.take('a'))).toEqual([0, 1])
  clock.pass(3600)
  expect([1, 2, 3, 4].map(() => limit.take('a'))).toEqual([0, 0, 0, 1])
})

test('the wait that is told is long enough', () => {
  const clock = newClock()
  const limit = newRateLimit({ per_second: 0.1, burst: 1 }, clock.now)
  expect([limit.take('a'), limit.take('a')]).toEqual([0, 10])
  clock.pass(10)
  expect(limit.take('a')).toBe(0)
})

test('whoever polls twenty services once a second meets no default limit, nor do ten of them behind one address', () => {
  const clock = newClock()
  const { rate_limit } = loadConfig([], {})
  const limits = newRateLimits(rate_limit, clock.now)
  let waited = 0
  for (let second = 0; second < 600; second += 1) {
    for (let client = 0; client < 10; client += 1) {
      for (let request = 0; request < 21; request += 1) {
        waited += limits?.address.take('home') ?? Infinity
        waited += limits?.caller.take(`client ${client}`) ?? Infinity
      }
    }
    clock.pass(1)
  }
  expect(waited).toBe(0)
})

test('no limits are none', () => {
  expect(newRateLimits(0)).toBeUndefined()
})

test('a flood of keys costs bounded memory and only ever forgives', () => {
  const limit = newRateLimit({ per_second: 1, burst: 1 }, () => 0)
  expect([limit.take('first'), limit.take('first')]).toEqual([0, 1])
  for (let key = 0; key < 30_000; key += 1) limit.take(`key ${key}`)
  expect(limit.take('first')).toBe(0)
  expect(limit.take('key 29999')).toBe(1)
})

test.each([
  ['127.0.0.1', '127.0.0.1'],
  ['::ffff:127.0.0.1', '::ffff:127.0.0.1'],
  ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
  ['2001:db8::1', '2001:db8:0:0'],
  ['::1', '0:0:0:0'],
  ['unknown', 'unknown'],
])('the address %s counts as %s', (address, key) => {
  expect(addressKey(address)).toBe(key)
})
