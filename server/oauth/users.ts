// Users as the authorization server needs them: one statement a function.
import type { Sql } from '../store/db.ts'
import { sql } from '../store/sql.ts'

/** Undefined for a disabled user, too. */
export async function findUser(db: Sql, user_id: number): Promise<{ email: string; name: string } | undefined> {
  if (!Number.isSafeInteger(user_id)) return undefined
  const [row] = await db.query(sql<{ email: string; name: string }>`
    select email, name from users where id = ${user_id} and disabled_at is null`)
  return row
}
