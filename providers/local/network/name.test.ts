// Table tests of the names of VPCs on a host.
import { expect, test } from 'vitest'
import { linkTo, metricOf, namespaceOf, peerOf, vpcOf } from './name.ts'

const one = { installation_id: 'abc' }
const other = { installation_id: 'abcd' }

test('a namespace names its installation and its VPC, and no installation finds another’s', () => {
  expect(namespaceOf(one, '1000')).toBe('howdah-abc-1000')
  expect(vpcOf(one, namespaceOf(one, '1000'))).toBe('1000')
  expect(vpcOf(one, namespaceOf(other, '1000'))).toBeUndefined()
  expect(vpcOf(one, 'howdah-abc-1000-2')).toBeUndefined()
  expect(() => namespaceOf(one, '../1000')).toThrow(/digits/)
  expect(() => namespaceOf({ installation_id: 'a-1' }, '1000')).toThrow(/letters and digits/)
})

test('the kernel accepts the name of a link, and it leads back to the VPC', () => {
  expect(linkTo('9999999999999').length).toBeLessThanOrEqual(15)
  expect(peerOf(linkTo('1000'))).toBe('1000')
  expect(peerOf('vpc0')).toBeUndefined()
})

test('VPCs with the same range are told apart by the metric of their routes', () => {
  const metrics = [metricOf(one, '1000'), metricOf(one, '1001'), metricOf(other, '1000')]
  expect(new Set(metrics).size).toBe(3)
  for (const metric of metrics) expect(metric).toBeGreaterThanOrEqual(2 ** 31)
  for (const metric of metrics) expect(metric).toBeLessThan(2 ** 32)
})
