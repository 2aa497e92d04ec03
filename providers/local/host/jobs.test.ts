// Work that goes on between two looks: who is told of its end, and who is not.
import { expect, test } from 'vitest'
import { newJobs } from './jobs.ts'

test('the end of work that was under way at a look asks for the next one, and no other end does', async () => {
  const jobs = newJobs()
  const told: string[] = []
  jobs.onEnd((service_id) => void told.push(service_id))
  expect(await jobs.ensure('quick/data', async () => undefined)).toBe('done')
  const long = Promise.withResolvers<undefined>()
  const broken_off = Promise.withResolvers<undefined>()
  const looks = [
    jobs.ensure('long/data', () => long.promise),
    jobs.ensure('deleted/data', async (signal) => {
      signal.addEventListener('abort', () => broken_off.resolve(undefined))
      await broken_off.promise
    }),
  ]
  expect(await Promise.all(looks)).toEqual(['under way', 'under way'])
  await jobs.end('deleted')
  expect(told).toEqual([])
  long.resolve(undefined)
  await long.promise
  expect(await jobs.ensure('long/data', async () => undefined)).toBe('done')
  expect(told).toEqual(['long'])
})
