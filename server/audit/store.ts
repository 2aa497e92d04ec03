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
  /** Null: the operator. */
  user_id: number | null
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
type NewLogin = Pick<AuditRow, 'address' | 'status' | 'code' | 'request_id'> & ({ user_id: number } | { email: string })

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

/** Null: any. `before`: the id of an entry, exclusive. */
export type AuditFilter = {
  before: number | null
  user_id: number | null
  is_operator: boolean
  endpoint: string | null
  resource_id: string | null
  is_done: boolean | null
  since: Date | null
  until: Date | null
}

const fits = fragment`(wanted.by_user is null or user_id = wanted.by_user)
  and (not wanted.by_operator or user_id is null)
  and (wanted.of_endpoint is null or endpoint = wanted.of_endpoint)
  and (wanted.about is null or resource_id = wanted.about)
  and (wanted.is_done is null or (code is null) = wanted.is_done)
  and (wanted.since is null or time >= wanted.since)
  and (wanted.until is null or time < wanted.until)`

/**
 * Newest first, with the logins of the members since they use the project: users are added without being asked. Each part goes back by
 * the index of its project or user from the last entry that was shown, because the log only grows. `between` is an equality that the planner does
 * not know for one: else it may take the index of ids, which has the order, too, and read the entries of all others until there are enough.
 */
export async function listAudit(db: Sql, project_id: string, filter: AuditFilter, limit: number): Promise<AuditRow[]> {
  const { user_id, is_operator, endpoint, resource_id, is_done, since, until } = filter
  const before = filter.before ?? Number.MAX_SAFE_INTEGER
  return db.query(sql<AuditRow>`
    with wanted as (
      select ${user_id}::bigint as by_user, ${is_operator}::boolean as by_operator, ${endpoint}::text as of_endpoint,
        ${resource_id}::text as about, ${is_done}::boolean as is_done, ${since}::timestamptz as since, ${until}::timestamptz as until
    )
    select ${columns} from (
      (select ${columns} from audit, wanted
       where project_id between ${project_id} and ${project_id} and id < ${before} and ${fits}
       order by project_id, id desc limit ${limit})
      union all
      (select login.* from members m cross join lateral (
         select ${columns} from audit, wanted
         where project_id is null and user_id between m.user_id and m.user_id and endpoint = 'login'
           and time >= m.used_at and id < ${before} and ${fits}
         order by user_id, id desc limit ${limit}) as login
       where m.project_id = ${project_id})
    ) as either order by id desc limit ${limit}`)
}
