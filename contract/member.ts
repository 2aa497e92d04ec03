// Members: which user has which role in a project. A caller gives no role above its own, nor changes a member who has
// one; a project never loses its last owner.
import type { Static } from 'typebox'
import { endpoint } from './endpoint.ts'
import { UserId } from './id.ts'
import { Email, flag, input, moment, Name, RoleName, text } from './schema.ts'
import { Type } from './type.ts'

export const Member = Type.Object(
  {
    user_id: UserId,
    email: text('The address that the user logs in with.', 'ada@example.com'),
    name: text('The name of the user.', 'Ada'),
    role: RoleName,
    created: moment('When the user became a member.'),
    joined: flag('False: invited by e-mail, and has not logged in yet.', true),
  },
  { $id: 'Member', description: 'A user with a role in a project.' },
)
export type Member = Static<typeof Member>

const LoginLink = Type.Object(
  {
    url: text(
      'Opened in a browser it lets the member choose a password, once.',
      'https://howdah.example.com/oauth/password/set?token=Zm9v',
    ),
    expires_at: moment('When it stops working.'),
  },
  {
    $id: 'LoginLink',
    description:
      'A way in for a member who has not logged in yet. It is as good as that member’s password: hand it over with care.',
  },
)

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
    summary: 'Add or invite a member',
    description:
      'A known e-mail is that user. An unknown one is invited: the user who logs in with it is a member. The role is at most the caller’s own.',
    tag,
    access: 'admin',
    body: input(
      { email: Email, role: RoleName, name: Type.Optional(Name) },
      { email: 'ada@example.com', role: 'developer', name: 'Ada' },
    ),
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
    body: input({ role: RoleName }, { role: 'admin' }),
    faults: ['CONFLICT'],
    success: 200,
    output: Member,
  }),
  createLoginLink: endpoint({
    method: 'POST',
    path: `${one}/createLoginLink`,
    summary: 'Make a link with which an invited member chooses a password',
    description:
      'For a member who has not logged in yet and belongs to this project alone, where people log in with a password. It works once, within a day; an older one stops working.',
    tag,
    access: 'admin',
    faults: ['CONFLICT'],
    success: 201,
    output: LoginLink,
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
