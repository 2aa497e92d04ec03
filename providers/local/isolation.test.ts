// Table tests of the users of an isolated installation.
import { expect, test } from 'vitest'
import { portsRefusal, subIdsOf } from './isolation.ts'
import { lastPortOf, newUserMap, ownerOf, subIdsFor } from '../host/user-map.ts'

const own = { uid: 1000, gid: 100 }
const mark = 1_234_567_890

function mapWith(count: number) {
  return newUserMap(own, { uids: { first: 100_000, count }, gids: { first: 300_000, count } }, mark)
}

test('inside are the ids that root gives, outside the owner and its sub ids, each once', () => {
  const { uids, gids } = mapWith(65_536)
  expect(uids).toBe('0 1000 1 65534 100001 1 70000 100000 1 71024 101024 64512 1234567890 100002 1')
  expect(gids).toBe('0 100 1 65534 300001 1 70000 300000 1 71024 301024 64512 1234567890 300002 1')
  expect(ownerOf({ uids, gids })).toEqual(own)
})

test.each([
  [65_536, 65_535],
  [1_000_000, 65_535],
  [30_000, 29_999],
  [1_025, 1_024],
])('with %i sub ids the last port with a user is %i', (count, last_port) => {
  const map = mapWith(count)
  expect(lastPortOf(map.uids)).toBe(last_port)
  expect(portsRefusal(map, last_port)).toBeUndefined()
  expect(portsRefusal(map, last_port + 1)).toMatch(new RegExp(`up to ${last_port};`))
  expect(subIdsFor(last_port)).toBeLessThanOrEqual(count)
})

test.each(['', '0 0 4294967295', '0 1000 1 1 100000 65536', '0 1000 1'])(
  '%j is no map of an isolated installation',
  (ids) => {
    expect(lastPortOf(ids)).toBeUndefined()
  },
)

test.each([
  ['', 0, 0],
  ['alice:100000:65536', 100_000, 65_536],
  ['1000:100000:65536\n', 100_000, 65_536],
  ['# a comment\nbob:1:2\nalice:100000:10\nalice:200000:65536\n', 200_000, 65_536],
  ['alice:100000\nalice:x:65536\nalice2:100000:65536', 0, 0],
])('of %j the largest range of the user is taken', (text, first, count) => {
  expect(subIdsOf(text, { username: 'alice', uid: 1000 })).toEqual({ first, count })
})
