// Texts of any characters, for tests that send what nothing expects.
import fc from 'fast-check'

const surrogates = { first: 0xd800, count: 0x800 }

/** fast-check has these as `binary`; that keeps a map of all characters, 90 MB, which every process that a test starts begins with. */
const any_character = fc
  .integer({ min: 0, max: 0x10ffff - surrogates.count })
  .map((place) => String.fromCodePoint(place < surrogates.first ? place : place + surrogates.count))

/** Half of them are of ASCII characters: among those fast-check puts words such as __proto__. */
export function anyText(limits: { minLength?: number; maxLength?: number } = {}): fc.Arbitrary<string> {
  return fc.oneof(fc.string({ ...limits, unit: any_character }), fc.string(limits))
}
