// The role that one query of the API runs as: made for that query, and dropped after it. Pure: its name and the statements about it.
//
// 1. It has at most the rights of the master role, so whatever of a tenant runs in its session gains nothing by it: a function, a
//    view, an operator in the search path, a setting of the database.
// 2. In read mode it only inherits those rights: it cannot become the master role, so it can neither make roles nor databases. It is
//    no member of pg_read_all_data, which reads verifiers.
// 3. Its settings are its own, made by a superuser: they win over all that a tenant sets for its database.
// 4. No role is a member of it, so no tenant can alter, rename or drop it. It ends by itself soon, and a password is known to one call.
import { master_role } from './names.ts'

export type QueryMode = 'read' | 'write'

type QueryRole = {
  name: string
  password: string
  mode: QueryMode
  timeout_seconds: number
  major: number
  temp_file_limit_kb: number
  now: Date
}

const prefix = 'howdah_query_'
/** Longer than the longest query, because the sweep takes it for over then. */
const valid_seconds = 120
const lock_timeout_ms = 1_000
const idle_timeout_ms = 10_000
/** A statement can catch its own timeout; this one it cannot. */
const grace_seconds = 5

export const queryRoleName = (random: string) => `${prefix}${random}`

/** One statement a line, to be sent at once. */
export function queryRoleSql(role: QueryRole): string {
  const { name, password, mode, timeout_seconds, major } = role
  const settings = {
    role: mode === 'write' ? master_role : 'none',
    statement_timeout: timeout_seconds * 1000,
    lock_timeout: lock_timeout_ms,
    idle_in_transaction_session_timeout: idle_timeout_ms,
    idle_session_timeout: idle_timeout_ms,
    temp_file_limit: role.temp_file_limit_kb,
    client_min_messages: 'notice',
    // Its statement stands in the log of the service; of other sessions only slow ones and definitions do.
    log_statement: 'all',
    ...(mode === 'read' && { default_transaction_read_only: 'on' }),
    ...(major >= 17 && { transaction_timeout: (timeout_seconds + grace_seconds) * 1000 }),
  }
  const valid_until = new Date(role.now.getTime() + valid_seconds * 1000).toISOString()
  return [
    `create role ${name} login connection limit 1 password '${password}' valid until '${valid_until}';`,
    ...Object.entries(settings).map(([setting, value]) => `alter role ${name} set ${setting} = '${value}';`),
    // Of a list that is empty: in words it would be a list of one empty name.
    `alter role ${name} set local_preload_libraries from current;`,
    `grant ${master_role} to ${name} with inherit true, set ${mode === 'write'};`,
  ].join('\n')
}

/** What a statement has left as its own, in this database; run in its own session, as itself. */
export const disownSql = (name: string) =>
  `set role none; reassign owned by ${name} to ${master_role}; drop owned by ${name}`

/** Those whose query ended without dropping them. A role of such a name that some role administers is a tenant's. */
export const expired_roles_sql = `select r.rolname as name from pg_catalog.pg_roles r
  where r.rolname operator(pg_catalog.~) '^${prefix}[0-9a-f]{16}$' and r.rolvaliduntil operator(pg_catalog.<) pg_catalog.now()
    and not exists (select from pg_catalog.pg_auth_members m where m.roleid operator(pg_catalog.=) r.oid)`

export const endSessionsSql = (name: string) =>
  `select pg_catalog.pg_terminate_backend(pid, 1000) from pg_catalog.pg_stat_activity
   where usename operator(pg_catalog.=) '${name}'::pg_catalog.name`

/** Where a tenant has granted it something, so that it cannot be dropped: what is left of it can do nothing. */
export const disarmSql = (name: string) =>
  `alter role ${name} nologin password null; revoke ${master_role} from ${name}; alter role ${name} valid until '-infinity'`
