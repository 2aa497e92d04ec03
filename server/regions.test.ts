// Table tests of the addresses that the server needs itself.
import { expect, test } from 'vitest'
import { neededAddressesOf } from './regions.ts'

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
