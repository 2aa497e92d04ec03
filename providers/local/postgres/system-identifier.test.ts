// Table tests of the control file's checksum and of new identifiers.
import { expect, test } from 'vitest'
import { controlWith, crc32c, identifierOf, newSystemIdentifier } from './system-identifier.ts'

test('the checksum is the Castagnoli one of the published check value', () => {
  expect(crc32c(Buffer.from('123456789'))).toBe(0xe3069283)
})

test.each([228, 292, 300])(
  'a control file with its checksum at %i gets the new identity and a fitting checksum',
  (at) => {
    const control = Buffer.alloc(8192)
    for (let offset = 0; offset < at; offset++) control[offset] = (offset * 7 + 1) & 0xff
    control.writeUInt32LE(crc32c(control.subarray(0, at)), at)
    const changed = controlWith(control, 123n, Buffer.alloc(32, 9))
    expect(identifierOf(changed)).toBe(123n)
    expect(changed.subarray(8, at - 32)).toEqual(control.subarray(8, at - 32))
    expect(changed.subarray(at - 32, at)).toEqual(Buffer.alloc(32, 9))
    expect(changed.readUInt32LE(at)).toBe(crc32c(changed.subarray(0, at)))
    expect(changed.subarray(at + 4)).toEqual(control.subarray(at + 4))
  },
)

test('a damaged control file is refused', () => {
  expect(() => controlWith(Buffer.alloc(8192, 1), 1n, Buffer.alloc(32))).toThrow(/damaged/)
})

test('identifiers of one second differ by chance', () => {
  expect(newSystemIdentifier(1_800_000_000, 1)).toBe((1_800_000_000n << 32n) + 1n)
  expect(newSystemIdentifier(1_800_000_000, 1)).not.toBe(newSystemIdentifier(1_800_000_000, 2))
})
