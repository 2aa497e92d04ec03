// Members: which user has which role in a project. Nobody gives a role above their own, nor changes a member who has
// one; a project never loses its last owner.
import { type Static, Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Email, Name, RoleName, Timestamp } from './schema.ts'

export const Member = Type.Object(
  {
    user_id: Type.String(),
    email: Type.String(),
    name: Type.String(),
    role: RoleName,
    created: Timestamp,
    joined: Type.Boolean({ description: 'False: invited by e-mail, and has not logged in yet.' }),
  },
  { $id: 'Member' },
)
export type Member = Static<typeof Member>

const all = '/projects/{project_id}/members'
const one = `${all}/{user_id}`
const tag = 'Members'

export const member_endpoints = {
  listMembers: endpoint({
    method: 'GET',
    path: all,
    summary: 'List the members of a project',
    tag,
    access: 'viewer',
    success: 200,
    output: Type.Array(Member),
  }),
  addMember: endpoint({
    method: 'POST',
    path: all,
    summary: 'Add a member, or invite somebody',
    description:
      'A known e-mail is that user. An unknown one is invited: whoever logs in with it is a member. The role is at most the caller’s own.',
    tag,
    access: 'admin',
    body: Type.Object({ email: Email, role: RoleName, name: Type.Optional(Name) }),
    faults: ['CONFLICT', 'QUOTA_EXCEEDED'],
    success: 201,
    output: Member,
  }),
  setMemberRole: endpoint({
    method: 'POST',
    path: `${one}/setRole`,
    summary: 'Change the role of a member',
    description: 'At most the caller’s own role, and only of members who have no higher one. The last owner stays one.',
    tag,
    access: 'admin',
    body: Type.Object({ role: RoleName }),
    faults: ['CONFLICT'],
    success: 200,
    output: Member,
  }),
  removeMember: endpoint({
    method: 'DELETE',
    path: one,
    summary: 'Remove a member',
    description: 'The tokens that they issued in this project stop working. The last owner stays.',
    tag,
    access: 'admin',
    faults: ['CONFLICT'],
    success: 204,
  }),
}
