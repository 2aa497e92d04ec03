// Who is calling. `api_key` and `apiKey` carry the same value: the spec's spelling and the newer one.
import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Timestamp } from './schema.ts'

export const User = Type.Object({ id: Type.String(), email: Type.String(), name: Type.String() }, { $id: 'User' })

const ApiKey = Type.Object(
  {
    created: Timestamp,
    issuing_user: User,
    name: Type.String(),
    project: Type.Object({ id: Type.String(), name: Type.String(), plan_type: Type.String() }),
    public_key: Type.String(),
  },
  { $id: 'ApiKey' },
)

export const AuthInfo = Type.Object(
  {
    type: Type.Enum(['apiKey', 'oauth']),
    apiKey: Type.Optional(ApiKey),
    api_key: Type.Optional(ApiKey),
    oauth: Type.Optional(Type.Object({ user: User })),
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
    body: Type.Object({ refresh_token: Type.Optional(Type.String({ minLength: 1, maxLength: 1000 })) }),
    success: 204,
  }),
}
