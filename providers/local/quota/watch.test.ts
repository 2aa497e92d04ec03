// How long a service is shut, however the clock of its host is set meanwhile.
import { expect, onTestFinished, test, vi } from 'vitest'
import { nodeOf } from '../host/layout.ts'
import { newQuotaWatch } from './watch.ts'

test('a clock that is set back does not keep a service shut', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance', 'Date'] })
  onTestFinished(() => void vi.useRealTimers())
  const quota_bytes = 10 * 1024 ** 3
  let share = 1
  const measure = async () => ({ data_bytes: share * quota_bytes, archive_bytes: 0 })
  const watch = newQuotaWatch({ measure, processorTime: () => undefined })
  onTestFinished(() => watch.close())
  watch.track(nodeOf('/d', 'abc', 20_001, false), { pid: 1, quota_bytes })
  const levelAfter = async (seconds: number) => {
    await vi.advanceTimersByTimeAsync(seconds * 1000)
    return watch.find('abc')?.state?.level
  }
  expect(await levelAfter(11)).toBe('full')
  share = 1.2
  expect(await levelAfter(11)).toBe('shut')
  vi.setSystemTime(Date.now() - 3_600_000)
  expect(await levelAfter(30)).toBe('full')
})
