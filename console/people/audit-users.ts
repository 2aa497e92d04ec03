// Whose entries of the audit log can be chosen: the members, and below them users of the entries on the page who are members no more. Pure.
import { type AuditEntry, operator_email } from '#contract/audit.ts'
import type { Member } from '#contract/member.ts'
import type { Option } from '../part/field.tsx'

type User = Pick<Member, 'user_id' | 'email'>

export function userOptions(
  members: readonly User[],
  entries: readonly Pick<AuditEntry, 'user_id' | 'email'>[],
): Option<string>[] {
  const labels = new Map(members.map(({ user_id, email }) => [user_id, email]))
  for (const { user_id, email } of entries)
    if (user_id !== undefined && !labels.has(user_id)) labels.set(user_id, email)
  return [
    { value: '', label: 'Every user' },
    ...[...labels].map(([value, label]) => ({ value, label })),
    { value: operator_email, label: 'Operator of the server' },
  ]
}
