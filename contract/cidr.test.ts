// What can be the block of a VPC: a table of edges, and random text and numbers against the rule said in another way.
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { anyText } from '#test/any-text.ts'
import { addressIn, cidrProblem, overlaps, parseCidr } from './cidr.ts'

const seed = 20_261_115

test.each([
  '10.0.0.0/16',
  '10.255.0.0/16',
  '10.1.2.240/28',
  '172.16.0.0/16',
  '172.31.255.240/28',
  '192.168.0.0/16',
  '192.168.255.0/24',
  '100.64.0.0/16',
  '100.127.255.240/28',
])('%s is a block', (text) => {
  expect(cidrProblem(text)).toBeUndefined()
})

describe('what is no block is refused with the reason', () => {
  test.each([
    ['10.0.0.0/15', 'must have a prefix from /16 to /28'],
    ['10.0.0.0/29', 'must have a prefix from /16 to /28'],
    ['10.0.0.0/0', 'must have a prefix from /16 to /28'],
    ['10.0.0.0/32', 'must have a prefix from /16 to /28'],
    ['10.0.0.1/16', 'has host bits that are not zero; the network is 10.0.0.0/16'],
    ['192.168.17.8/28', 'has host bits that are not zero; the network is 192.168.17.0/28'],
    ['9.255.0.0/16', 'must be a private network'],
    ['11.0.0.0/16', 'must be a private network'],
    ['172.15.0.0/16', 'must be a private network'],
    ['172.32.0.0/16', 'must be a private network'],
    ['192.167.0.0/16', 'must be a private network'],
    ['192.169.0.0/16', 'must be a private network'],
    ['100.63.0.0/16', 'must be a private network'],
    ['100.128.0.0/16', 'must be a private network'],
    ['127.0.0.0/16', 'must be a private network'],
    ['169.254.0.0/16', 'must be a private network'],
    ['0.0.0.0/16', 'must be a private network'],
    ['255.255.0.0/16', 'must be a private network'],
  ])('%s', (text, reason) => {
    expect(cidrProblem(text)).toContain(reason)
  })

  test.each([
    '',
    '10.0.0.0',
    '10.0.0/16',
    '10.0.0.0.0/16',
    '10.0.0.0/',
    '10.0.0.0/016',
    '010.0.0.0/16',
    '10.00.0.0/16',
    '10.0.0.256/28',
    '10.0.0.0/33',
    '10.0.0.0/-1',
    '10.0.0.0/16 ',
    ' 10.0.0.0/16',
    '10.0.0.0/16\n',
    '10.0.0.0/1e1',
    '10.0.0.0/0x10',
    '10.0.0.0/255.255.0.0',
    '0xa.0.0.0/16',
    '١٠.0.0.0/16',
    'fd00::/16',
    '::ffff:10.0.0.0/112',
  ])('%j is not written as a block is', (text) => {
    expect(cidrProblem(text)).toBe('must be an IPv4 network such as 10.64.0.0/16')
  })
})

test('no text, however strange, throws; and what passes is what it says', () => {
  const near = fc
    .tuple(
      fc.array(fc.integer({ min: -1, max: 300 }), { minLength: 3, maxLength: 5 }),
      fc.integer({ min: -1, max: 40 }),
    )
    .map(([octets, prefix]) => `${octets.join('.')}/${prefix}`)
  fc.assert(
    fc.property(fc.oneof(near, anyText(), fc.stringMatching(/^[0-9./]{1,20}$/)), (text) => {
      if (cidrProblem(text) !== undefined) return
      const { first, size } = parseCidr(text)
      expect(first % size).toBe(0)
      expect(`${addressIn(parseCidr(text), 0)}/${32 - Math.log2(size)}`).toBe(text)
    }),
    { seed, numRuns: 5000 },
  )
})

test('a block of any network and prefix is taken exactly when it is private, aligned and of a size offered', () => {
  const any = fc.record({
    address: fc.nat(2 ** 32 - 1),
    prefix: fc.integer({ min: 0, max: 32 }),
    aligned: fc.boolean(),
  })
  const insides = fc.constantFrom(10 * 2 ** 24, 172 * 2 ** 24 + 16 * 2 ** 16, 192 * 2 ** 24 + 168 * 2 ** 16)
  const inside = fc.record({
    address: fc.tuple(insides, fc.nat(2 ** 16 - 1)).map(([network, host]) => network + host),
    prefix: fc.integer({ min: 14, max: 30 }),
    aligned: fc.boolean(),
  })
  fc.assert(
    fc.property(fc.oneof(any, inside), ({ address, prefix, aligned }) => {
      const size = 2 ** (32 - prefix)
      const first = aligned ? address - (address % size) : address
      const octets = [24, 16, 8, 0].map((bits) => Math.floor(first / 2 ** bits) % 256)
      const [a = 0, b = 0] = octets
      const is_private =
        a === 10 || (a === 172 && b >= 16 && b < 32) || (a === 192 && b === 168) || (a === 100 && b >= 64 && b < 128)
      const is_block = is_private && prefix >= 16 && prefix <= 28 && first % size === 0
      expect(cidrProblem(`${octets.join('.')}/${prefix}`) === undefined).toBe(is_block)
    }),
    { seed, numRuns: 5000 },
  )
})

test.each([
  ['10.0.0.0/16', '10.0.0.0/16', true],
  ['10.0.0.0/16', '10.0.255.240/28', true],
  ['10.0.255.240/28', '10.0.0.0/16', true],
  ['10.0.0.0/16', '10.1.0.0/16', false],
  ['10.0.0.0/28', '10.0.0.16/28', false],
  ['192.168.0.0/24', '192.168.1.0/24', false],
])('%s and %s overlap: %s', (one, other, overlapping) => {
  expect(overlaps(parseCidr(one), parseCidr(other))).toBe(overlapping)
})
