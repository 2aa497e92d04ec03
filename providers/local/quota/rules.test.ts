// The levels of a disk quota as tables: from what a service takes, and what it took before.
import { diskGbsOf } from '../../postgres/size.ts'
import { expect, test } from 'vitest'
import { eventsOf, measureAgainInMs, type QuotaState, quotaBytesOf, quotaStateOf, sentenceOf } from './rules.ts'

/** Tests count in thousandths of it. */
const unit_bytes = 10 * 1024 ** 2
const quota_bytes = 1000 * unit_bytes
const at = (ms: number) => ({ ms, date: new Date(ms) })

/** Each measure after the other, a second apart: `data/archive`. */
function after(...measures: string[]): QuotaState {
  const states = measures.map((text, index) => {
    const [data_bytes = 0, archive_bytes = 0] = text.split('/').map((part) => Number(part) * unit_bytes)
    return { used: { data_bytes, archive_bytes }, now: at(index * 1000) }
  })
  const last = states.reduce<QuotaState | undefined>(
    (before, { used, now }) => quotaStateOf(before, used, quota_bytes, now),
    undefined,
  )
  if (!last) throw new Error('nothing was measured')
  return last
}

test.each([
  ['within', ['0/0']],
  ['within', ['899/0']],
  ['within', ['500/399']],
  ['near', ['900/0']],
  ['near', ['500/400']],
  ['near', ['900/0', '860/0']],
  ['within', ['900/0', '840/0']],
  ['near', ['999/100']],
  ['full', ['1000/0']],
  ['full', ['500/600']],
  ['full', ['1000/0', '960/0']],
  ['near', ['1000/0', '940/0']],
  ['full', ['1000/0', '1099/0']],
  ['shut', ['1000/0', '1100/0']],
  ['full', ['500/600', '500/899']],
  ['shut', ['500/600', '500/901']],
  ['shut', ['1000/0', '1100/0', '1000/0']],
  ['near', ['1000/0', '1100/0', '900/0']],
  // Writes were not refused before: no transaction can have insisted.
  ['full', ['900/0', '1200/0', '1299/0']],
  ['shut', ['900/0', '1200/0', '1301/0']],
  // A server that starts finds it so.
  ['full', ['1200/0', '1209/0']],
  ['shut', ['1200/0', '1211/0']],
])('it is %s after %j', (level, measures) => {
  expect(after(...measures).level).toBe(level)
})

test('the archive is asked to give way while it takes a part of a full quota', () => {
  expect(after('500/499').presses).toBe(false)
  expect(after('500/500').presses).toBe(true)
  expect(after('500/500', '500/410').presses).toBe(true)
  expect(after('500/500', '500/390').presses).toBe(false)
  expect(after('990/20').presses).toBe(false)
})

test('a service that is shut is opened after a while, each time a longer one, with a little to go on with', () => {
  const used = (units: number) => ({ data_bytes: units * unit_bytes, archive_bytes: 0 })
  const step = (before: QuotaState | undefined, units: number, ms: number) =>
    quotaStateOf(before, used(units), quota_bytes, at(ms))
  const full = step(undefined, 1000, 0)
  const shut = step(full, 1100, 1)
  expect(step(shut, 1100, 15_000).level).toBe('shut')
  const opened = step(shut, 1100, 15_001)
  expect(opened.level).toBe('full')
  expect(step(opened, 1109, 15_002).level).toBe('full')
  const again = step(opened, 1111, 15_003)
  expect(again.level).toBe('shut')
  expect(step(again, 1110, 45_002).level).toBe('shut')
  expect(step(again, 1110, 45_003).level).toBe('full')
  const freed = step(again, 500, 45_003)
  expect([freed.level, freed.shut_ms]).toEqual(['within', 15_000])
})

test('the time of a level is that of its change', () => {
  expect(after('1000/0', '1000/0', '1100/0').since).toEqual(new Date(2000))
  expect(after('1000/0', '1000/0', '1050/0').since).toEqual(new Date(0))
})

test('that it comes near is told once, and that it is full by what it waits for', () => {
  const near = after('900/0')
  expect(eventsOf(undefined, near, quota_bytes)).toHaveLength(1)
  expect(eventsOf(near, near, quota_bytes)).toEqual([])
  expect(eventsOf(after('1000/0'), near, quota_bytes)).toEqual([])
  const pressed = after('500/500')
  expect(
    eventsOf(near, pressed, quota_bytes)
      .map(({ message }) => message)
      .join(),
  ).toContain('gives way')
  expect(sentenceOf(near, quota_bytes)).toBeUndefined()
  expect(sentenceOf(after('1000/0'), 20 * 1024 ** 3)).toMatch(
    /^its disk quota of 20 GB is used up: it serves reads only/,
  )
})

test.each([
  [1, 20, 0, 10_000],
  [15, 20, 0, 7_000],
  [21.9, 20, 0, 500],
  [40, 20, 0, 500],
  [21.9, 20, 100, 2_000],
])('with %d of %d GB taken, by a walk of %d ms, it is measured again in %d ms', (gb, quota_gb, took_ms, in_ms) => {
  const used = { data_bytes: gb * 1024 ** 3, archive_bytes: 0 }
  expect(Math.round(measureAgainInMs(used, quota_gb * 1024 ** 3, took_ms))).toBe(in_ms)
})

test.each([
  ['shared', 10, 10],
  [{ cpu_millis: 500, memory_gbs: 2 }, 10, 20],
  [{ cpu_millis: 32_000, memory_gbs: 128 }, 1, 128],
  ['shared', 0, undefined],
] as const)('a size of %j has a quota of its own at %d GB for each GB', (size, factor, gbs) => {
  expect(diskGbsOf(size, factor)).toBe(gbs)
  expect(quotaBytesOf(size, factor)).toBe(gbs === undefined ? undefined : gbs * 1024 ** 3)
})

test('of a small quota there is more to free space with than a tenth', () => {
  const small_bytes = 512 * 1024 ** 2
  const used = (share: number) => ({ data_bytes: share * small_bytes, archive_bytes: 0 })
  const full = quotaStateOf(undefined, used(1), small_bytes, at(0))
  expect(quotaStateOf(full, used(1.49), small_bytes, at(1)).level).toBe('full')
  expect(quotaStateOf(full, used(1.51), small_bytes, at(1)).level).toBe('shut')
})
