// Work that goes on between two passes: whose end is reported, and whose is not.
import { expect, test } from 'vitest'
import { newJobs } from './jobs.ts'

test('the end of work that was under way at a pass asks for the next pass, and no other end does', async () => {
  const jobs = newJobs()
  const told: string[] = []
  jobs.onEnd((service_id) => void told.push(service_id))
  expect(await jobs.ensure('quick/data', async () => undefined)).toBe('done')
  const long = Promise.withResolvers<undefined>()
  const broken_off = Promise.withResolvers<undefined>()
  const passes = [
    jobs.ensure('long/data', () => long.promise),
    jobs.ensure('deleted/data', async (signal) => {
      signal.addEventListener('abort', () => broken_off.resolve(undefined))
      await broken_off.promise
    }),
  ]
  expect(await Promise.all(passes)).toEqual(['under way', 'under way'])
  await jobs.end('deleted')
  expect(told).toEqual([])
  long.resolve(undefined)
  await long.promise
  expect(await jobs.ensure('long/data', async () => undefined)).toBe('done')
  expect(told).toEqual(['long'])
})
