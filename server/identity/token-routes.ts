// The handlers of personal access tokens. The secret leaves in the answer that makes a token; a revoked one is worthless
// on this server when the answer is sent.
import { api } from '#contract/api.ts'
import { Fault, notFound, unknown_token } from '#contract/fault.ts'
import { checked } from '#contract/problem.ts'
import type { token_endpoints } from '#contract/token.ts'
import type { AccessParts, Handlers } from '../http/handler.ts'
import { lockProjectFor } from './permission.ts'
import { countTokens, findCaller, listCallers, removeToken } from './store.ts'
import { newTokenRole, parseTokenExpiry, tokens_per_project_max, tokenView } from './token-rules.ts'
import { callerOf, createToken } from './token.ts'

export function tokenHandlers({ db, callers }: AccessParts): Pick<Handlers, keyof typeof token_endpoints> {
  return {
    listTokens: async ({ params }) => {
      const rows = await listCallers(db, params.project_id)
      return rows.map((row) => tokenView(callerOf(row), row.last_used_at))
    },

    createToken: ({ params: { project_id }, body, caller }) => {
      const expires_at = checked((problems) => parseTokenExpiry(body.expires_at, caller, new Date(), problems))
      const token = { name: body.name.trim(), project_id, user_id: Number(caller.user.id), expires_at }
      return db.transaction(async (tx) => {
        const own = await lockProjectFor(tx, project_id, caller, api.createToken.access)
        const role = newTokenRole(body.role, own, caller)
        if ((await countTokens(tx, project_id)) >= tokens_per_project_max) {
          throw new Fault('QUOTA_EXCEEDED', `a project has at most ${tokens_per_project_max} tokens; revoke one first`)
        }
        const { public_key, secret_key } = await createToken(tx, { ...token, role })
        const row = await findCaller(tx, public_key)
        if (row === undefined) throw new Error('a token that was just made is not there')
        return { ...tokenView(callerOf(row), null), secret_key }
      })
    },

    revokeToken: async ({ params: { project_id, public_key }, caller }) => {
      await db.transaction(async (tx) => {
        await lockProjectFor(tx, project_id, caller, api.revokeToken.access)
        if ((await removeToken(tx, public_key, project_id)) === undefined) throw notFound(unknown_token)
      })
      callers.forget()
    },
  }
}
