// What HAProxy says of itself, read.
import { expect, test } from 'vitest'
import { fieldOf } from './control.ts'

test('a field of a description is found by its whole name', () => {
  const info = 'Name: HAProxy\nPid: 17\nPidx: 18\ndescription: 0123abcd\n'
  expect([fieldOf(info, 'Pid'), fieldOf(info, 'description'), fieldOf(info, 'absent')]).toEqual([
    '17',
    '0123abcd',
    undefined,
  ])
})
