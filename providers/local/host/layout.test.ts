// Table tests of where things lie and who owns them.
import { expect, test } from 'vitest'
import { nodeOf, tooLongSentence } from './layout.ts'

test('as root every service has a user of its own, by its port', () => {
  expect(nodeOf('/d', 'a', 20_001, true).owner).toEqual({ uid: 90_001, gid: 90_001 })
  expect(nodeOf('/d', 'a', 20_001, false).owner).toBeUndefined()
})

test('a directory too deep for unix sockets is refused with the number of bytes', () => {
  expect(tooLongSentence('/var/lib/howdah')).toBeUndefined()
  expect(tooLongSentence(`/${'d'.repeat(80)}`)).toMatch(/\d+ bytes too long for unix sockets/)
})
