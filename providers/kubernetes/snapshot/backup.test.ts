// Table tests of what a copy says of itself, which WAL is older than it, and which moments the archive proves.
import { expect, test } from 'vitest'
import { nextOf } from '../store/archives.ts'
import { infoOf, isWalBefore } from './backup.ts'

test.each([
  ['cluster_size=33\nend_time=2026-11-18 01:44:46.808294+00:00\n', '2026-11-18T01:44:46.809Z', 33],
  ['end_time=2026-11-18 01:44:46.808000+00:00\n', '2026-11-18T01:44:46.808Z', 0],
  ['end_time=2026-11-18 01:44:46+00:00\n', '2026-11-18T01:44:46.000Z', 0],
])('%j', (text, taken_at, size_bytes) => {
  expect(infoOf(text)).toEqual({ taken_at: new Date(taken_at), size_bytes })
})

test('a copy that has not ended says nothing', () => {
  expect(infoOf('end_time=None\nstatus=STARTED\n')).toBeUndefined()
})

test.each([
  ['p/wals/0000000100000000/000000010000000000000003', true],
  ['p/wals/0000000200000000/000000020000000000000003', true],
  ['p/wals/0000000100000000/000000010000000000000003.00000028.backup', true],
  ['p/wals/0000000100000000/000000010000000000000004', false],
  ['p/wals/0000000100000001/000000010000000100000000', false],
  ['p/wals/00000002.history', false],
])('whether %s goes before 000000010000000000000004: %s', (key, goes) => {
  expect(isWalBefore(key, '000000010000000000000004')).toBe(goes)
})

test('a moment is proven when the archive has the position that was the newest then, and not before', () => {
  const [one, two, three] = [new Date(1000), new Date(2000), new Date(3000)]
  const first = nextOf({}, { currentLsn: '0/5000100', lastArchivedWAL: '000000010000000000000004' }, one)
  expect(first).toEqual({ pending: { at: one, position: 0x5000100n } })
  const second = nextOf(first, { currentLsn: '0/5000200', lastArchivedWAL: '000000010000000000000004' }, two)
  expect(second).toEqual(first)
  const third = nextOf(second, { currentLsn: '0/6000028', lastArchivedWAL: '000000010000000000000005' }, three)
  expect(third).toEqual({ proven: one, pending: { at: three, position: 0x6000028n } })
  const whole = nextOf(third, { currentLsn: '0/7000000', lastArchivedWAL: '000000010000000000000006' }, three)
  expect(whole).toEqual({ proven: three })
  expect(nextOf(third, { currentLsn: '0/7000000', lastArchivedWAL: '00000002.history' }, three)).toEqual(third)
})
