// Who is calling, and where they have logged in. `api_key` and `apiKey` carry the same value: the spec's spelling and the newer one.
import type { Static } from 'typebox'
import { endpoint } from './endpoint.ts'
import { LoginId, ProjectId, PublicKey, UserId } from './id.ts'
import { flag, GivenName, input, moment, text } from './schema.ts'
import { Type } from './type.ts'

export const User = Type.Object(
  {
    id: UserId,
    email: text('The address that the user logs in with.', 'ada@example.com'),
    name: text('The name of the user.', 'Ada'),
  },
  { $id: 'User', description: 'A person.' },
)

/** The one plan: every installation is self-hosted. */
export const plan_type = 'SELF_HOSTED'

const ApiKey = Type.Object(
  {
    created: moment('When the token was made.'),
    issuing_user: User,
    name: text('The name of the token.', 'ci'),
    project: Type.Object(
      {
        id: ProjectId,
        name: GivenName,
        plan_type: Type.Enum([plan_type], { description: 'The plan of the project; there is one.' }),
      },
      { description: 'The project that the token is scoped to.' },
    ),
    public_key: PublicKey,
  },
  { $id: 'ApiKey', description: 'A personal access token.' },
)

export const AuthInfo = Type.Object(
  {
    type: Type.Enum(['apiKey', 'oauth'], {
      description: 'Which of the two kinds of caller, and so which member is there.',
    }),
    apiKey: Type.Optional(ApiKey),
    api_key: Type.Optional(ApiKey),
    oauth: Type.Optional(Type.Object({ user: User }, { description: 'A user who has logged in.' })),
  },
  { $id: 'AuthInfo' },
)

export const Login = Type.Object(
  {
    id: LoginId,
    client_id: text('The program that it was made with.', 'howdah-console'),
    client_name: text('What that program calls itself.', 'Howdah console'),
    created: moment('When it was made.'),
    last_used_at: moment('When the program last asked for a token, which a program in use does every 15 minutes.'),
    is_current: flag('Whether this very request came with it.', true),
  },
  { $id: 'Login', description: 'A program in which a person is logged in.' },
)
export type Login = Static<typeof Login>

export const auth_endpoints = {
  getAuthInfo: endpoint({
    method: 'GET',
    path: '/auth/info',
    summary: 'Who the caller is',
    tag: 'Identity',
    access: 'caller',
    success: 200,
    output: AuthInfo,
  }),
  logout: endpoint({
    method: 'POST',
    path: '/auth/logout',
    summary: 'End this login',
    description: 'The access token and its refresh token are worthless afterwards. A personal access token stays.',
    tag: 'Identity',
    access: 'caller',
    body_optional: true,
    body: input(
      {
        refresh_token: Type.Optional(
          text('The refresh token of the login, where the client has one.', 'VZ3q9nUe0sYd', {
            minLength: 1,
            maxLength: 1000,
          }),
        ),
      },
      { refresh_token: 'VZ3q9nUe0sYd' },
    ),
    success: 204,
  }),
  listLogins: endpoint({
    method: 'GET',
    path: '/logins',
    summary: 'List the programs in which you are logged in',
    description: 'The last used first.',
    tag: 'Identity',
    access: 'user',
    success: 200,
    output: Type.Array(Login),
  }),
  endLogin: endpoint({
    method: 'DELETE',
    path: '/logins/{login_id}',
    summary: 'End a login of yours',
    description: 'Its tokens are worthless afterwards, as after a logout. Personal access tokens stay.',
    tag: 'Identity',
    access: 'user',
    success: 204,
  }),
}
