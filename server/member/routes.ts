// The handlers of members. Changes of one project's members happen one after the other, so that two owners cannot
// remove each other at once; afterwards callers are verified anew.
import { api } from '#contract/api.ts'
import { type Role, roleAllows } from '#contract/endpoint.ts'
import { Fault, notFound, unknown_member } from '#contract/fault.ts'
import type { member_endpoints } from '#contract/member.ts'
import type { Sql } from '../store/db.ts'
import type { AccessParts, Caller, Handlers } from '../http/handler.ts'
import { lockProjectFor } from '../identity/permission.ts'
import { findRole, findUserByEmail, insertInvitedUser, lockClaim, type UserRow } from '../identity/store.ts'
import {
  members_per_project_max,
  memberView,
  refuseLastOwnerLeaving,
  refuseMemberAbove,
  refuseRoleAbove,
} from './rules.ts'
import {
  countMembers,
  countOwners,
  findMember,
  insertMember,
  listMembers,
  type MemberRow,
  removeMember,
  saveRole,
} from './store.ts'

type At = { project_id: string; user_id: string }

export function memberHandlers({
  db,
  callers,
}: AccessParts): Pick<Handlers, Exclude<keyof typeof member_endpoints, 'createLoginLink'>> {
  const change = async <T>(
    { project_id, caller, needed }: { project_id: string; caller: Caller; needed: Role },
    work: (tx: Sql, own: Role) => Promise<T>,
  ): Promise<T> => {
    const result = await db.transaction(async (tx) => work(tx, await lockProjectFor(tx, project_id, caller, needed)))
    callers.forget()
    return result
  }
  return {
    listMembers: async ({ params }) => (await listMembers(db, params.project_id)).map(memberView),

    addMember: ({ params: { project_id }, body, caller }) =>
      change({ project_id, caller, needed: api.addMember.access }, async (tx, own) => {
        refuseRoleAbove(own, body.role)
        const user = await ensureUser(tx, body)
        if ((await findMember(tx, project_id, user.id)) !== undefined) {
          throw new Fault('CONFLICT', 'this user is a member already; change their role with setRole')
        }
        await refuseClaimedElsewhere(tx, user, { project_id, caller })
        if ((await countMembers(tx, project_id)) >= members_per_project_max) {
          throw new Fault(
            'QUOTA_EXCEEDED',
            `a project has at most ${members_per_project_max} members; remove one first`,
          )
        }
        await insertMember(tx, { project_id, user_id: user.id, role: body.role })
        return memberView(await getMember(tx, { project_id, user_id: String(user.id) }))
      }),

    setMemberRole: ({ params, body: { role }, caller }) =>
      change({ ...params, caller, needed: api.setMemberRole.access }, async (tx, own) => {
        refuseRoleAbove(own, role)
        const member = await getMember(tx, params)
        refuseMemberAbove(own, member)
        refuseLastOwnerLeaving(member, role, await countOwners(tx, params.project_id))
        await saveRole(tx, params.project_id, member.user_id, role)
        return memberView({ ...member, role })
      }),

    removeMember: ({ params, caller }) =>
      change({ ...params, caller, needed: api.removeMember.access }, async (tx, own) => {
        const member = await getMember(tx, params)
        refuseMemberAbove(own, member)
        refuseLastOwnerLeaving(member, undefined, await countOwners(tx, params.project_id))
        await removeMember(tx, params.project_id, member.user_id)
      }),
  }
}

/** The user with this e-mail: a known one, or one who is invited by this very call. */
async function ensureUser(tx: Sql, { email, name }: { email: string; name?: string }): Promise<UserRow> {
  await insertInvitedUser(tx, { email, name: name?.trim() ?? email })
  const user = await findUserByEmail(tx, email)
  if (user === undefined) throw new Error('a user that was just made is not there')
  return user
}

/** The link of another project proves nothing about the e-mail. A caller who administers that project, too, vouches for it here. */
async function refuseClaimedElsewhere(
  tx: Sql,
  { id }: UserRow,
  { project_id, caller }: { project_id: string; caller: Caller },
): Promise<void> {
  const claimed_in = await lockClaim(tx, id)
  if (claimed_in === null || claimed_in === project_id) return
  const role = await findRole(tx, claimed_in, Number(caller.user.id))
  if (role !== undefined && roleAllows(role, api.createLoginLink.access)) return
  throw new Fault(
    'CONFLICT',
    'this user joined by a link of another project, which alone vouches for the e-mail; ask the operator of the server for a new link',
  )
}

export async function getMember(tx: Sql, { project_id, user_id }: At): Promise<MemberRow> {
  const row = await findMember(tx, project_id, Number(user_id))
  if (row === undefined) throw notFound(unknown_member)
  return row
}
