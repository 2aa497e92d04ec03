// Table tests of what the server needs itself, and of what it says about VPCs outside the operator's ranges.
import { expect, test } from 'vitest'
import { neededAddressesOf, outsideSentence } from './ranges.ts'

const nothing = { database_url: undefined, oidc_issuer: undefined, trusted_proxies: [] }

test.each([
  [{}, []],
  [{ database_url: 'postgres://me:secret@10.70.0.5:5433/howdah' }, ['10.70.0.5']],
  [{ database_url: 'postgres://me@db/howdah?host=10.70.0.6' }, ['10.70.0.6']],
  [{ database_url: 'postgresql://db.example.com/howdah' }, []],
  [{ oidc_issuer: 'https://10.71.0.1/realm' }, ['10.71.0.1']],
  [{ oidc_issuer: 'https://[fd00::1]/realm' }, []],
  [{ trusted_proxies: ['10.72.0.1', '10.0.0.0/8', '::1'] }, ['10.72.0.1']],
])('of %j the server needs %j', (settings, addresses) => {
  expect(neededAddressesOf({ ...nothing, ...settings })).toEqual(addresses)
})

test('VPCs inside the ranges are no reason to say anything', () => {
  expect(outsideSentence([{ id: 1000, cidr: '10.127.255.240/28' }], ['10.64.0.0/10'])).toBeUndefined()
  expect(outsideSentence([], ['10.64.0.0/10'])).toBeUndefined()
})

test('VPCs outside the ranges are named with the flag that includes them', () => {
  const vpcs = [
    { id: 1000, cidr: '10.64.0.0/16' },
    { id: 1001, cidr: '10.20.0.0/16' },
    { id: 1002, cidr: '192.168.7.0/24' },
    { id: 1003, cidr: '10.20.0.0/16' },
  ]
  const sentence = outsideSentence(vpcs, ['10.64.0.0/10'])
  expect(sentence).toContain('lie 1001 (10.20.0.0/16), 1002 (192.168.7.0/24), 1003 (10.20.0.0/16)')
  expect(sentence).toMatch(/start with --vpc-ranges 10\.64\.0\.0\/10,10\.20\.0\.0\/16,192\.168\.7\.0\/24$/)
})
