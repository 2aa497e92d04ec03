// Personal access tokens of a project. The secret is in the answer that makes a token and nowhere else, ever.
import { type Static, Type } from 'typebox'
import { User } from './auth.ts'
import { endpoint, roles } from './endpoint.ts'
import { Name, RoleName, Timestamp } from './schema.ts'

const token_fields = {
  public_key: Type.String(),
  name: Type.String(),
  role: Type.Enum([...roles], { description: 'What it may do: its own role, and never more than its issuer’s.' }),
  issuing_user: User,
  created: Timestamp,
  expires_at: Type.Optional(Timestamp),
  last_used_at: Type.Optional(Timestamp),
}

export const Token = Type.Object(token_fields, { $id: 'Token' })
export type Token = Static<typeof Token>

export const NewToken = Type.Object(
  { ...token_fields, secret_key: Type.String({ format: 'password', description: 'Shown in this answer only.' }) },
  { $id: 'NewToken' },
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
    body: Type.Object({
      name: Name,
      role: Type.Optional(RoleName),
      expires_at: Type.Optional(
        Type.String({
          format: 'date-time',
          maxLength: 64,
          description: 'In the future; left out: it does not expire.',
        }),
      ),
    }),
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
