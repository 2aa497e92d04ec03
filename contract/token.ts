// Personal access tokens of a project. The secret is in the answer that makes a token and nowhere else, ever.
import type { Static } from 'typebox'
import { User } from './auth.ts'
import { endpoint, roles } from './endpoint.ts'
import { PublicKey } from './id.ts'
import { choice, input, moment, momentInput, Name, RoleName, text } from './schema.ts'
import { Type } from './type.ts'

const token_fields = {
  public_key: PublicKey,
  name: text('What it is for.', 'ci'),
  role: choice(roles, 'What it may do: its own role, and never more than its issuer’s.', 'developer'),
  issuing_user: User,
  created: moment('When it was made.'),
  expires_at: Type.Optional(moment('When it stops working; absent: never.', '2027-11-15T12:00:00Z')),
  last_used_at: Type.Optional(moment('When it was last used, to the minute or so; absent: not yet.')),
}

export const Token = Type.Object(token_fields, {
  $id: 'Token',
  description: 'A personal access token, without its secret.',
})
export type Token = Static<typeof Token>

export const NewToken = Type.Object(
  {
    ...token_fields,
    secret_key: text('Shown in this answer only.', 'mZ4Xr0c7Qy2hT9bW6kLsE1vN8uJ3pFdA', { format: 'password' }),
  },
  { $id: 'NewToken', description: 'A personal access token, with its secret.' },
)

const all = '/projects/{project_id}/tokens'
const tag = 'Tokens'

export const token_endpoints = {
  listTokens: endpoint({
    method: 'GET',
    path: all,
    summary: 'List the personal access tokens of a project, without their secrets',
    tag,
    access: 'admin',
    success: 200,
    output: Type.Array(Token),
  }),
  createToken: endpoint({
    method: 'POST',
    path: all,
    summary: 'Create a personal access token',
    description:
      'It acts for the caller’s user, in this project only, with at most the caller’s role. Made with another token it lives no longer than that one. `secret_key` is shown in this answer only.',
    tag,
    access: 'admin',
    body: input(
      {
        name: Name,
        role: Type.Optional(RoleName),
        expires_at: Type.Optional(momentInput('In the future; left out: it does not expire.', '2030-01-31T12:00:00Z')),
      },
      { name: 'ci', role: 'developer', expires_at: '2030-01-31T12:00:00Z' },
    ),
    faults: ['QUOTA_EXCEEDED'],
    success: 201,
    output: NewToken,
  }),
  revokeToken: endpoint({
    method: 'DELETE',
    path: `${all}/{public_key}`,
    summary: 'Revoke a personal access token',
    description: 'It stops working at once on the server that answers, and within five seconds on every other one.',
    tag,
    access: 'admin',
    success: 204,
  }),
}
