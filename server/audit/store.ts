// The audit log in the metadata store: it only grows. A trigger refuses every other change.
import type { AuditClient } from '#contract/audit.ts'
import type { Endpoint } from '#contract/endpoint.ts'
import type { FaultCode } from '#contract/fault.ts'
import type { Sql } from '../store/db.ts'
import { fragment, sql } from '../store/sql.ts'

export type AuditRow = {
  id: number
  time: Date
  project_id: string | null
  user_id: number
  email: string
  public_key: string | null
  client: AuditClient | null
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

export async function insertAudit(db: Sql, entry: NewAudit): Promise<void> {
  await db.query(
    sql`
      insert into audit (project_id, user_id, email, public_key, client, address, endpoint, method, path, resource_id,
        status, code, request_id)
      values (${entry.project_id}, ${entry.user_id}, ${entry.email}, ${entry.public_key}, ${entry.client}, ${entry.address},
        ${entry.endpoint}, ${entry.method}, ${entry.path}, ${entry.resource_id}, ${entry.status}, ${entry.code}, ${entry.request_id})`,
    'insert audit',
  )
}

/** Who it is, or who they say they are. */
export type NewLogin = Pick<AuditRow, 'address' | 'status' | 'code' | 'request_id'> &
  ({ user_id: number } | { email: string })

/** Of a known user only: another text in the field may be a secret, and there is no end to such texts. */
export async function insertLogin(db: Sql, login: NewLogin): Promise<void> {
  const { user_id, email } = { user_id: null, email: null, ...login }
  await db.query(sql`
    insert into audit (user_id, email, address, endpoint, method, path, status, code, request_id)
    select id, email, ${login.address}, 'login', 'POST', '/oauth/login', ${login.status}, ${login.code},
      ${login.request_id}
    from users
    where id = ${user_id} or lower(email) = lower(${email})`)
}

const columns = fragment`id, time, project_id, user_id, email, public_key, client, address, endpoint, method, path,
  resource_id, status, code, request_id`

/** Newest first, with the logins of the members; before: the id of an entry, exclusive. */
export async function listAudit(
  db: Sql,
  project_id: string,
  { before, limit }: { before: number | null; limit: number },
): Promise<AuditRow[]> {
  return db.query(sql<AuditRow>`
    select ${columns} from (
      (select ${columns} from audit
       where project_id = ${project_id} and (${before}::bigint is null or id < ${before})
       order by id desc limit ${limit})
      union all
      (select ${columns} from audit
       where project_id is null and endpoint = 'login' and (${before}::bigint is null or id < ${before})
         and user_id in (select user_id from members where project_id = ${project_id})
       order by id desc limit ${limit})
    ) as either order by id desc limit ${limit}`)
}
