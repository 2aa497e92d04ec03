// Users as the authorization server needs them: one statement a function.
import type { Sql } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import type { UserRow } from '../identity/store.ts'

export async function findUser(db: Sql, user_id: number): Promise<UserRow | undefined> {
  if (!Number.isSafeInteger(user_id)) return undefined
  const [row] = await db.query(sql<UserRow>`
    select id, email, name, created, joined_at from users where id = ${user_id}`)
  return row
}
