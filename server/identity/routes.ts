// Who the caller is, as the spec words it. Everything comes from the verified caller: no query.
import { plan_type } from '#contract/auth.ts'
import type { Handlers, TokenCaller } from '../http/handler.ts'

export function identityHandlers(): Pick<Handlers, 'getAuthInfo'> {
  return {
    getAuthInfo: async ({ caller }) => {
      if (caller.type === 'oauth') return { type: 'oauth', oauth: { user: caller.user } }
      const api_key = apiKeyOf(caller)
      return { type: 'apiKey', apiKey: api_key, api_key }
    },
  }
}

function apiKeyOf(caller: TokenCaller) {
  return {
    created: caller.created.toISOString(),
    issuing_user: caller.user,
    name: caller.name,
    project: { ...caller.project, plan_type } as const,
    public_key: caller.public_key,
  }
}
