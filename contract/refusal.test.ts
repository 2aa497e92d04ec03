// What callers are told before they try: by role, by status, and nothing where only the server knows.
import { expect, test } from 'vitest'
import { api } from './api.ts'
import { refusalOf } from './refusal.ts'

const role_words = 'your role in this project is viewer; this needs at least developer'

test.each([
  ['stopService', { role: 'viewer', status: 'READY' }, role_words],
  ['stopService', { role: 'viewer', status: 'PAUSED' }, role_words],
  ['stopService', { role: 'owner', status: 'READY' }, undefined],
  [
    'stopService',
    { role: 'owner', status: 'PAUSED' },
    'the service is PAUSED; this is possible when it is READY, UNSTABLE',
  ],
  ['stopService', { status: 'UNSTABLE' }, undefined],
  ['stopService', {}, undefined],
  ['resizeService', { status: 'CONFIGURING' }, undefined],
  [
    'resizeService',
    { status: 'CONFIGURING', is_stuck: false },
    'the service is CONFIGURING; this is possible when it is READY, CONFIGURING with a setback',
  ],
  ['deleteService', { role: 'developer', status: 'QUEUED' }, undefined],
  ['getAuthInfo', { role: 'viewer' }, undefined],
] as const)('%s with %j: %s', (name, known, refusal) => {
  expect(refusalOf(api[name], known)).toBe(refusal)
})
