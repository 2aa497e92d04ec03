// Table tests of what a resolver's file names, and of what lies inside the operator's ranges.
import { expect, test } from 'vitest'
import { isOutside, nameServersIn } from './ranges.ts'

test.each([
  ['', []],
  ['nameserver 10.70.0.53\n', ['10.70.0.53']],
  ['# nameserver 10.70.0.53\nnameserver\t10.70.0.54 # here\nnameserver fd00::53\noptions edns0', ['10.70.0.54']],
  ['nameserver 300.1.1.1\nnameserver name.example', []],
])('of %j the name servers are %j', (text, servers) => {
  expect(nameServersIn(text)).toEqual(servers)
})

test.each([
  ['10.64.0.0/16', false],
  ['10.127.255.240/28', false],
  ['172.20.0.0/16', false],
  ['10.63.0.0/16', true],
  ['10.128.0.0/28', true],
  // Larger than the range that it begins with.
  ['172.20.0.0/14', true],
])('%s is outside the ranges: %s', (cidr, outside) => {
  expect(isOutside({ vpc_ranges: ['10.64.0.0/10', '172.20.0.0/16'] }, cidr)).toBe(outside)
})
