// The control plane's own roles in a service. They are made with the template, so that no tenant can have made one before; in
// services that are older than that, a role of such a name may be a tenant's, and is refused, not altered.
//
// 1. Each has a mark that only a superuser can give: REPLICATION, or a predefined role that no tenant administers.
// 2. None has a password or members, so no other role can alter, rename, drop or become it.
// 3. A role of such a name without the mark, which no role administers, is replaced: no tenant can undo it, and a session
//    that was opened as the old role has no rights of the new one.
import pg from 'pg'
import type { Effect } from '../host/effect.ts'
import { TenantSetback } from './tenant-setback.ts'
import { copy_role_prefix, pooler_role, standby_role } from '../../postgres/names.ts'

export const reserved_roles = [standby_role, pooler_role] as const
type ReservedRole = (typeof reserved_roles)[number]

/** Lets the pooler ask for a verifier when all other connections are taken. */
export const pooler_mark = 'pg_use_reserved_connections'
const dependent_objects = '2BP01'

/** `timeout 0` is none. They win over a tenant's settings for its database. */
const pooler_settings: Readonly<Record<string, string>> = {
  search_path: 'pg_catalog, pg_temp',
  role: 'none',
  row_security: 'off',
  statement_timeout: '0',
  lock_timeout: '0',
  idle_in_transaction_session_timeout: '0',
  idle_session_timeout: '0',
  default_transaction_isolation: 'read committed',
  default_transaction_deferrable: 'off',
  default_transaction_read_only: 'on',
  standard_conforming_strings: 'on',
}

/** The statements that make a role, each of one line. */
export function roleSql(role: ReservedRole, major: number): string[] {
  if (role === standby_role) return [`create role ${standby_role} login replication`]
  return [
    `create role ${pooler_role} login noinherit`,
    ...settingsSql(major),
    // Last: a role without it is not finished.
    `grant ${pooler_mark} to ${pooler_role} with inherit true`,
  ]
}

/** Makes the role when it is missing, and replaces an unfinished one. Throws while a tenant has a role of that name. */
export async function ensureReservedRole(effect: Effect, client: pg.Client, role: ReservedRole): Promise<void> {
  const observed = await readRole(client, role)
  if (observed.kind === 'ours') {
    if (role === pooler_role && !sameSettings(observed.settings, observed.major))
      await ensureSettings(effect, client, observed.major)
    return
  }
  if (observed.kind === 'taken') {
    throw new TenantSetback(
      `the role ${role} was not made by the control plane, which needs one of that name; rename it (alter role ${role} rename to …) or drop it`,
    )
  }
  if (observed.kind === 'left') await removeLeft(effect, client, role, observed.oid)
  await effect('reserved role: make')
  for (const sql of roleSql(role, observed.major)) await client.query(sql)
}

/** REPLICATION is the standby role's and that of copies. It is revoked where an earlier server was tricked to grant it. */
export async function ensureReplicationReserved(effect: Effect, client: pg.Client): Promise<string[]> {
  const { rows } = await client.query<{ rolname: string; oid: number }>(
    `select r.rolname, r.oid from pg_catalog.pg_roles r
     where r.rolreplication and not r.rolsuper and (r.rolname <> $1
       or exists (select from pg_catalog.pg_auth_members m where m.roleid = r.oid))
       and not pg_catalog.starts_with(r.rolname::text, $2)`,
    [standby_role, copy_role_prefix],
  )
  for (const { rolname, oid } of rows) {
    await effect('replication: take back')
    await client.query(`alter role ${client.escapeIdentifier(rolname)} noreplication`)
    await endSessionsOf(client, oid)
  }
  return rows.map(({ rolname }) => rolname)
}

/** `left`: without the mark, and administered by no role. */
type Observed = { major: number } & (
  | { kind: 'absent' | 'taken' }
  | { kind: 'left'; oid: number }
  | { kind: 'ours'; settings: readonly string[] }
)

async function readRole(client: pg.Client, role: ReservedRole): Promise<Observed> {
  const { rows } = await client.query<{
    major: number
    oid: number | null
    plain: boolean
    marked: boolean
    has_members: boolean
    settings: string[]
  }>(
    `select pg_catalog.current_setting('server_version_num')::int / 10000 as major, r.oid,
       r.rolcanlogin and r.rolpassword is null and r.rolvaliduntil is null and r.rolconnlimit = -1
         and not (r.rolsuper or r.rolcreaterole or r.rolcreatedb or r.rolbypassrls) as plain,
       case r.rolname when $1 then r.rolreplication else exists (
         select from pg_catalog.pg_auth_members m join pg_catalog.pg_roles p on p.oid = m.roleid
         where m.member = r.oid and m.inherit_option and p.rolname = $2) end as marked,
       exists (select from pg_catalog.pg_auth_members m where m.roleid = r.oid) as has_members,
       coalesce((select setconfig from pg_catalog.pg_db_role_setting s where s.setrole = r.oid and s.setdatabase = 0),
         '{}') as settings
     from (values (1)) one left join pg_catalog.pg_authid r on r.rolname = $3`,
    [standby_role, pooler_mark, role],
  )
  const [row] = rows
  const major = row?.major ?? 0
  if (!row || row.oid === null) return { kind: 'absent', major }
  if (row.has_members) return { kind: 'taken', major }
  if (!row.plain || !row.marked) return { kind: 'left', oid: row.oid, major }
  return { kind: 'ours', settings: row.settings, major }
}

async function removeLeft(effect: Effect, client: pg.Client, role: ReservedRole, oid: number): Promise<void> {
  await effect('reserved role: remove')
  await endSessionsOf(client, oid)
  await client.query(`drop role ${role}`).catch((error: unknown) => {
    if (!(error instanceof pg.DatabaseError && error.code === dependent_objects)) throw error
    const detail = error.detail?.split('\n')[0] ?? ''
    throw new TenantSetback(
      `the role ${role} was not made by the control plane, which needs one of that name, and cannot be dropped (${detail}); revoke its privileges and drop its objects`,
    )
  })
}

export async function endSessionsOf(client: pg.Client, oid: number): Promise<void> {
  await client.query(
    'select pg_catalog.pg_terminate_backend(pid, 1000) from pg_catalog.pg_stat_activity where usesysid = $1',
    [oid],
  )
}

async function ensureSettings(effect: Effect, client: pg.Client, major: number): Promise<void> {
  await effect('reserved role: set')
  await client.query(`alter role ${pooler_role} reset all`)
  for (const sql of settingsSql(major)) await client.query(sql)
}

function settingsSql(major: number): string[] {
  return [
    ...Object.entries(settingsFor(major)).map(([name, value]) => {
      const literal = name === 'search_path' ? value : `'${value}'`
      return `alter role ${pooler_role} set ${name} = ${literal}`
    }),
    // Of a list that is empty: in words it would be a list of one empty name.
    `alter role ${pooler_role} set local_preload_libraries from current`,
  ]
}

const settingsFor = (major: number) => ({ ...pooler_settings, ...(major >= 17 && { transaction_timeout: '0' }) })

function sameSettings(settings: readonly string[], major: number): boolean {
  const wanted = [...Object.entries(settingsFor(major)), ['local_preload_libraries', '']]
  const texts = wanted.map(([name, value]) => `${name}=${value}`)
  return JSON.stringify(settings.toSorted()) === JSON.stringify(texts.toSorted())
}
