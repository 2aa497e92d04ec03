// A pass that is repeated: never twice at once, and only while it is on.
import { expect, test } from 'vitest'
import { newPolling } from './polling.ts'

test('passes follow each other while it is on, and none is under way with another', async () => {
  let [passes, under_way, most] = [0, 0, 0]
  const polling = newPolling(1, async () => {
    under_way += 1
    most = Math.max(most, under_way)
    await new Promise((resolve) => setImmediate(resolve))
    under_way -= 1
    passes += 1
  })
  polling.set(true)
  polling.set(true)
  await expect.poll(() => passes).toBeGreaterThan(3)
  expect(most).toBe(1)
  polling.set(false)
})

test('a pass that switches it off is the last, also when it is switched on again and off', async () => {
  let passes = 0
  const polling = newPolling(1, () => {
    passes += 1
    polling.set(false)
  })
  polling.set(true)
  await expect.poll(() => passes).toBe(1)
  polling.set(true)
  await expect.poll(() => passes).toBe(2)
})
