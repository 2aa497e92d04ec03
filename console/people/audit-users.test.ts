// Who can be chosen in the audit log.
import { expect, test } from 'vitest'
import { userOptions } from './audit-users.ts'

test('a removed member whose entries are on the page can be chosen, once; the operator has no id', () => {
  const entries = [
    { user_id: '2', email: 'bob@example.com' },
    { email: 'operator' },
    { user_id: '1', email: 'ada@before.example.com' },
    { user_id: '2', email: 'bob@before.example.com' },
  ]
  expect(userOptions([{ user_id: '1', email: 'ada@example.com' }], entries)).toEqual([
    { value: '', label: 'Every user' },
    { value: '1', label: 'ada@example.com' },
    { value: '2', label: 'bob@example.com' },
    { value: 'operator', label: 'Operator of the server' },
  ])
})
