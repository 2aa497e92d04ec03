// A person's own logins: where they are logged in, and the end of each. A login is known by a digest of its grant's id, which has another
// form than every secret: a secret that is pasted in its place is no id, and gets into no log.
import { hash } from 'node:crypto'
import type { Login } from '#contract/auth.ts'
import { notFound, unknown_login } from '#contract/fault.ts'
import type { Callers, Handlers } from '../http/handler.ts'
import type { Db } from '../store/db.ts'
import { clientNameOf } from './clients.ts'
import { endLogin } from './logout.ts'
import { access_token_seconds } from './provider.ts'
import { listLogins, type LoginRow } from './records.ts'

const id_digits = 16

export const loginIdOf = (grant_id: string) => hash('sha256', grant_id, 'hex').slice(0, id_digits)

export function loginHandlers({
  db,
  callers,
}: {
  db: Db
  callers: Callers
}): Pick<Handlers, 'listLogins' | 'endLogin'> {
  return {
    listLogins: async ({ caller }) => {
      const rows = await listLogins(db, Number(caller.user.id), access_token_seconds)
      return rows.map((row) => loginView(row, caller.grant_id))
    },
    endLogin: async ({ caller, params: { login_id } }) => {
      const user_id = Number(caller.user.id)
      const rows = await listLogins(db, user_id, access_token_seconds)
      const found = rows.find(({ grant_id }) => loginIdOf(grant_id) === login_id)
      if (found === undefined) throw notFound(unknown_login)
      await endLogin(db, user_id, found.grant_id)
      callers.forget()
    },
  }
}

function loginView(row: LoginRow, current: string | undefined): Login {
  return {
    id: loginIdOf(row.grant_id),
    client_id: row.client_id,
    client_name: clientNameOf(row.client_id) ?? row.client_name ?? row.client_id,
    created: row.created.toISOString(),
    last_used_at: row.last_used_at.toISOString(),
    is_current: row.grant_id === current,
  }
}
