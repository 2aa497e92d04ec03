// Cursors: a cursor is read back, and any other text is refused.
import fc from 'fast-check'
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { newCursor, parseCursor } from './cursor.ts'

const position = { node: 0, file: 'postgresql-20261115-010203.json', offset: 123_456_789_012 }

test('a cursor names the position it was made for', () => {
  expect(parseCursor('abcdefghij', newCursor('abcdefghij', position))).toEqual(position)
})

test('a cursor of another service is refused', () => {
  expect(parseCursor('abcdefghij', newCursor('abcdefghik', position))).toBeUndefined()
})

test('a cursor of another version is refused, even when it is whole', () => {
  const cursorOf = (version: number) => {
    const text = JSON.stringify([version, 'abcdefghij', position.node, position.file, position.offset])
    const checksum = createHash('sha256').update(`howdah log cursor ${text}`).digest().subarray(0, 8)
    return Buffer.concat([checksum, Buffer.from(text)]).toString('base64url')
  }
  expect(parseCursor('abcdefghij', cursorOf(1))).toEqual(position)
  expect(parseCursor('abcdefghij', cursorOf(2))).toBeUndefined()
})

test('a changed cursor is refused, wherever it was changed', () => {
  const cursor = newCursor('abcdefghij', position)
  fc.assert(
    fc.property(
      fc.nat(cursor.length - 1),
      fc.constantFrom('A', 'B', 'a', 'b', '0', '1', '-', '_', '='),
      (at, letter) => {
        fc.pre(cursor[at] !== letter)
        const changed = cursor.slice(0, at) + letter + cursor.slice(at + 1)
        expect(parseCursor('abcdefghij', changed)).toBeUndefined()
      },
    ),
  )
})

test('random text is refused', () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ maxLength: 200 }), fc.base64String()), (text) => {
      expect(parseCursor('abcdefghij', text)).toBeUndefined()
    }),
  )
})

test.each(['../../etc/passwd', 'postgresql-1.json', ''])('a file outside the log (%j) is refused', (file) => {
  expect(parseCursor('abcdefghij', newCursor('abcdefghij', { ...position, file }))).toBeUndefined()
})
