// Table tests of ranges.
import { expect, test } from 'vitest'
import { gatewayOf, overlap, prefixOf } from './cidr.ts'

test.each([
  ['10.77.0.0/24', '10.77.0.1', 24],
  ['10.0.0.0/16', '10.0.0.1', 16],
  ['192.168.255.240/28', '192.168.255.241', 28],
])('the VPC of %s has the address %s', (cidr, gateway, prefix) => {
  expect(gatewayOf(cidr)).toBe(gateway)
  expect(prefixOf(cidr)).toBe(prefix)
})

test.each([
  ['10.0.0.0/16', '10.0.255.255', true],
  ['10.0.0.0/16', '10.1.0.0', false],
  ['10.0.0.16/28', '10.0.0.0/24', true],
  ['10.0.0.16/28', '10.0.0.0/28', false],
  ['10.0.0.16/28', '10.0.0.32/28', false],
  ['192.168.0.0/16', '128.0.0.0/1', true],
  ['192.168.0.0/16', '0.0.0.0/0', true],
  ['255.255.255.255', '255.255.255.240/28', true],
])('%s and %s overlap: %s', (one, other, overlaps) => {
  expect(overlap(one, other)).toBe(overlaps)
  expect(overlap(other, one)).toBe(overlaps)
})
