// Who is calling. `api_key` and `apiKey` carry the same value: the spec's spelling and the newer one.
import { endpoint } from './endpoint.ts'
import { ProjectId, PublicKey, UserId } from './id.ts'
import { GivenName, input, moment, text } from './schema.ts'
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
}
