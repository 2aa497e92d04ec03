// Table tests of where things lie and who owns them.
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { nodeAt, nodeOf, preparedOf, tooLongSentence } from './layout.ts'

test('as root every service has a user of its own, by its port', () => {
  expect(nodeOf('/d', 'a', 20_001, true).owner).toEqual({ uid: 90_001, gid: 90_001 })
  expect(nodeOf('/d', 'a', 20_001, false).owner).toBeUndefined()
})

test('a directory too deep for unix sockets is refused with the number of bytes', () => {
  expect(tooLongSentence('/var/lib/howdah')).toBeUndefined()
  expect(tooLongSentence(`/${'d'.repeat(80)}`)).toMatch(/\d+ bytes too long for unix sockets/)
})

test('in a directory that is just short enough every server can make its socket', () => {
  const named = (length: number) => `/${'d'.repeat(length)}`
  const longest = [...Array(100).keys()].findLast((length) => tooLongSentence(named(length)) === undefined) ?? 0
  const service = nodeOf(named(longest), 'abcdefghij', 20_001, true)
  for (const { sockets } of [service, nodeAt(service, 12, 'standby'), preparedOf(service)]) {
    expect(Buffer.byteLength(join(sockets, '.s.PGSQL.65535'))).toBeLessThanOrEqual(107)
  }
})
