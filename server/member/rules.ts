// The rules of membership, pure: a caller gives or takes no role above its own, and an owner stays.
import { type Role, roleAllows } from '#contract/endpoint.ts'
import { Fault } from '#contract/fault.ts'
import type { Member } from '#contract/member.ts'
import type { MemberRow } from './store.ts'

export const members_per_project_max = 1000

export function memberView(row: MemberRow): Member {
  return {
    user_id: String(row.user_id),
    email: row.email,
    name: row.name,
    role: row.role,
    created: row.created.toISOString(),
    joined: row.joined_at !== null,
  }
}

/** Refuses to give a role that the caller does not have. */
export function refuseRoleAbove(own: Role, given: Role): void {
  if (roleAllows(own, given)) return
  throw new Fault(
    'FORBIDDEN',
    `your role in this project is ${own}; you can give that one and lower ones, not ${given}`,
  )
}

export function refuseMemberAbove(own: Role, member: Pick<MemberRow, 'role'>): void {
  if (roleAllows(own, member.role)) return
  throw new Fault('FORBIDDEN', `your role in this project is ${own}; a member with the role ${member.role} is above it`)
}

/** A project always has a member who can do everything in it. role: the member's next one; undefined: none. */
export function refuseLastOwnerLeaving(
  member: Pick<MemberRow, 'role' | 'joined_at' | 'disabled_at'>,
  role: Role | undefined,
  owners: number,
): void {
  const is_acting_owner = member.role === 'owner' && member.joined_at !== null && member.disabled_at === null
  if (!is_acting_owner || role === 'owner' || owners > 1) return
  throw new Fault('CONFLICT', 'this member is the last owner of the project; make another member an owner first')
}
