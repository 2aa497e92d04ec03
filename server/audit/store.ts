// The audit log in the metadata store: it only grows. A trigger refuses every other change.
import type { Endpoint } from '#contract/endpoint.ts'
import type { FaultCode } from '#contract/fault.ts'
import type { Sql } from '../store/db.ts'

export type AuditRow = {
  id: number
  time: Date
  project_id: string | null
  user_id: number
  email: string
  public_key: string | null
  address: string
  endpoint: string
  method: Endpoint['method']
  path: string
  resource_id: string | null
  status: number
  code: FaultCode | null
  request_id: string
}

export type NewAudit = Omit<AuditRow, 'id' | 'time'>

export async function insertAudit(sql: Sql, entry: NewAudit): Promise<void> {
  await sql.query(
    `insert into audit (project_id, user_id, email, public_key, address, endpoint, method, path, resource_id, status,
       code, request_id)
     values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)`,
    [
      entry.project_id,
      entry.user_id,
      entry.email,
      entry.public_key,
      entry.address,
      entry.endpoint,
      entry.method,
      entry.path,
      entry.resource_id,
      entry.status,
      entry.code,
      entry.request_id,
    ],
    'insert audit',
  )
}

/** Who it is, or who they say they are. */
export type NewLogin = Pick<AuditRow, 'address' | 'status' | 'code' | 'request_id'> &
  ({ user_id: number } | { email: string })

/** Of a known user only: another text in the field may be a secret, and there is no end to such texts. */
export async function insertLogin(sql: Sql, login: NewLogin): Promise<void> {
  await sql.query(
    `insert into audit (user_id, email, address, endpoint, method, path, status, code, request_id)
     select id, email, $3, 'login', 'POST', '/oauth/login', $4, $5, $6 from users
     where id = $1 or lower(email) = lower($2)`,
    [
      'user_id' in login ? login.user_id : null,
      'email' in login ? login.email : null,
      login.address,
      login.status,
      login.code,
      login.request_id,
    ],
  )
}

/** Newest first, with the logins of the members; before: the id of an entry, exclusive. */
export async function listAudit(
  sql: Sql,
  project_id: string,
  page: { before: number | null; limit: number },
): Promise<AuditRow[]> {
  const columns = `id, time, project_id, user_id, email, public_key, address, endpoint, method, path, resource_id, status,
    code, request_id`
  const page_of = `($2::bigint is null or id < $2) order by id desc limit $3`
  return sql.query<AuditRow>(
    `select * from (
       (select ${columns} from audit where project_id = $1 and ${page_of})
       union all
       (select ${columns} from audit where project_id is null and endpoint = 'login'
          and user_id in (select user_id from members where project_id = $1) and ${page_of})
     ) as either order by id desc limit $3`,
    [project_id, page.before, page.limit],
  )
}
