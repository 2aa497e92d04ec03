// Logging out: the login of the caller's token ends, and with a refresh token the login of that token.
// A refresh token that is another user's, or no longer valid, changes nothing and says nothing.
import type { Db, Sql } from '../store/db.ts'
import type { Callers, Handlers } from '../http/handler.ts'
import { recordIdOf } from './adapter.ts'
import { console_client_id } from './clients.ts'
import { findRecord, removeGrant, removeSession } from './records.ts'

export function logoutHandlers({ db, callers }: { db: Db; callers: Callers }): Pick<Handlers, 'logout'> {
  return {
    logout: async ({ caller, body }) => {
      const user_id = Number(caller.user.id)
      if (body.refresh_token !== undefined) {
        const grant_id = await findGrant(db, body.refresh_token, caller.user.id)
        if (grant_id !== undefined) await endLogin(db, user_id, grant_id)
      }
      if (caller.type === 'oauth' && caller.grant_id !== undefined) await endLogin(db, user_id, caller.grant_id)
      callers.forget()
    },
  }
}

async function findGrant(db: Db, refresh_token: string, user_id: string): Promise<string | undefined> {
  const found = await findRecord(db, 'RefreshToken', 'id', recordIdOf('RefreshToken', refresh_token))
  const { accountId, grantId } = found?.payload ?? {}
  return accountId === user_id && typeof grantId === 'string' ? grantId : undefined
}

export async function endLogin(db: Sql, user_id: number, grant_id: string): Promise<void> {
  await removeGrant(db, grant_id)
  // The console is the browser: else its next login would go through without a question.
  await removeSession(db, { user_id, client_id: console_client_id, grant_id })
}
