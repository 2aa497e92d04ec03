// Table tests of what the server says about VPCs outside the operator's ranges.
import { expect, test } from 'vitest'
import { outsideSentence } from './ranges.ts'

test('VPCs inside the ranges are no reason to say anything', () => {
  expect(outsideSentence([{ id: 1000, cidr: '10.127.255.240/28' }], ['10.64.0.0/10'])).toEqual([])
  expect(outsideSentence([], ['10.64.0.0/10'])).toEqual([])
})

test('VPCs outside the ranges are named with the flag that includes them', () => {
  const vpcs = [
    { id: 1000, cidr: '10.64.0.0/16' },
    { id: 1001, cidr: '10.20.0.0/16' },
    { id: 1002, cidr: '192.168.7.0/24' },
    { id: 1003, cidr: '10.20.0.0/16' },
  ]
  const [sentence] = outsideSentence(vpcs, ['10.64.0.0/10'])
  expect(sentence).toContain('lie 1001 (10.20.0.0/16), 1002 (192.168.7.0/24), 1003 (10.20.0.0/16)')
  expect(sentence).toMatch(/start with --vpc-ranges 10\.64\.0\.0\/10,10\.20\.0\.0\/16,192\.168\.7\.0\/24$/)
})
