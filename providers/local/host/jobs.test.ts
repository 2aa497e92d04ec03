// Work that goes on between two passes: whose end is reported and whose is not, and what becomes of its successor.
import { expect, test } from 'vitest'
import { until } from '#test/until.ts'
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

test('work that begins while its predecessors are being ended is known', async () => {
  const jobs = newJobs()
  const [slow, quick, next] = [0, 0, 0].map(() => Promise.withResolvers<void>())
  const untilAborted = (job: typeof slow) => async (signal: AbortSignal) => {
    if (job === quick) signal.addEventListener('abort', () => job?.resolve())
    await job?.promise
  }
  jobs.begin('one/slow', untilAborted(slow))
  jobs.begin('one/quick', untilAborted(quick))
  const ended = jobs.end('one')
  await until(() => !jobs.isKnown('one/quick'))
  jobs.begin('one/quick', untilAborted(next))
  slow?.resolve()
  await ended
  expect(jobs.isKnown('one/quick')).toBe(true)
  next?.resolve()
})
