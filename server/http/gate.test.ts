// Gates: how many calls are inside, wait and are refused, and that keys do not share.
import { expect, test } from 'vitest'
import { Fault } from '#contract/fault.ts'
import { newGates } from './gate.ts'

const limits = { at_once_max: 2, waiting_max: 3, refusal: () => new Fault('RATE_LIMITED', 'full') }

test('at most so many are inside at once, a few wait, and the rest is refused at once', async () => {
  const enter = newGates(limits)
  const { promise: opened, resolve: open } = Promise.withResolvers<void>()
  let [inside, most] = [0, 0]
  const work = async () => {
    inside += 1
    most = Math.max(most, inside)
    await opened
    inside -= 1
  }
  const all = Array.from({ length: 9 }, () => enter('a', work))
  const settled = Promise.allSettled(all)
  await expect(all.at(-1)).rejects.toThrow('full')
  open()
  expect((await settled).map(({ status }) => status)).toEqual([
    ...Array<string>(5).fill('fulfilled'),
    ...Array<string>(4).fill('rejected'),
  ])
  expect([most, inside]).toEqual([2, 0])
})

test('a key that is full keeps no other key out', async () => {
  const enter = newGates(limits)
  const { promise: opened, resolve: open } = Promise.withResolvers<void>()
  const full = Promise.allSettled(Array.from({ length: 9 }, () => enter('a', () => opened)))
  expect(await enter('b', async () => 'done')).toBe('done')
  open()
  await full
  expect(await enter('a', async () => 'done')).toBe('done')
})

test('work that fails leaves its place to the next', async () => {
  const enter = newGates({ ...limits, at_once_max: 1 })
  const failing = enter('a', () => Promise.reject(new Error('broken')))
  const next = enter('a', async () => 'done')
  await expect(failing).rejects.toThrow('broken')
  expect(await next).toBe('done')
})
