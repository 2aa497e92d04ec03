// The master role of a service: its verifier, its rights, and the extensions of its database. Only what differs is changed, and
// no verifier leaves a trace in the server's log or in its list of sessions.
//
// The role cannot log in until it is handed over, and no role can take LOGIN from itself: while it has neither LOGIN nor a
// password, no tenant has ever been in this server.
import type pg from 'pg'
import type { ObservedEvent, WantedCopy } from '../../provider.ts'
import type { Effect } from '../host/effect.ts'
import { type Node } from '../host/layout.ts'
import { ensureCopyRoles } from './copy-role.ts'
import { ensureExtensions, makeExtensions } from './extensions.ts'
import { ensureMasterDatabase } from './master-database.ts'
import { ensureReadOnlyLogins, findUnwatched } from './read-only-session.ts'
import { sweepQueryRoles } from './query-role.ts'
import { ensureReplicationReserved, ensureReservedRole, pooler_mark, reserved_roles } from './reserved-roles.ts'
import { withCatalogChanges } from './tenant-locks.ts'
import { TenantSetback } from './tenant-setback.ts'
import { master_role, pooler_role } from '../../postgres/names.ts'

type RoleSpec = {
  password_verifier: string
  extensions: readonly string[]
  copies?: readonly WantedCopy[]
}

/** `lacks`: what the tenant's databases do not have, for people. `postgres_version`: such as `18.4`. */
export type ObservedRole = { events: ObservedEvent[]; lacks?: string; postgres_version?: string }

/** Rights of earlier templates: the one reads all verifiers, the other locks all catalogs. */
const withdrawn_rights = ['pg_read_all_data', 'pg_maintain']

/** Throws a TenantSetback where the tenant has made a login impossible and must undo it. */
export async function ensureMasterRole(effect: Effect, node: Node, spec: RoleSpec): Promise<ObservedRole> {
  const events: ObservedEvent[] = []
  // One connection is a third of the cost of a create: all of it goes over one, but for extensions.
  const { handed_over, major, postgres_version, unwatched } = await withCatalogChanges(node, events, async (client) => {
    const role = await readRole(client)
    if (!role.handed_over) await makeExtensions(effect, node, spec.extensions, role.major)
    else if (!role.up_to_date) await ensureUpToDate(effect, client, events)
    await ensureVerifier(effect, client, role, spec.password_verifier, events)
    if (role.handed_over) {
      await ensureMasterDatabase(effect, client, events)
      await sweepQueryRoles(effect, client)
      await ensureCopyRoles(effect, client, spec.copies ?? [])
      return { ...role, unwatched: await findUnwatched(client, role.major) }
    }
    return { ...role, unwatched: [] }
  })
  const unheld = await ensureReadOnlyLogins(effect, node, unwatched, major)
  const without = handed_over ? await ensureExtensions(effect, node, spec.extensions, major) : undefined
  const lacks = [unheld, without].filter((lack) => lack !== undefined).join('; ')
  return { events, postgres_version, ...(lacks !== '' && { lacks }) }
}

type Role = {
  major: number
  postgres_version: string
  handed_over: boolean
  /** It was made by, or brought to, this template: no tenant can undo that. */
  up_to_date: boolean
  rolpassword: string | null
  may_log_in: boolean
}

async function readRole(client: pg.Client): Promise<Role> {
  const { rows } = await client.query<Role>(
    `select pg_catalog.current_setting('server_version_num')::int / 10000 as major, r.rolpassword,
       pg_catalog.split_part(pg_catalog.current_setting('server_version'), ' ', 1) as postgres_version,
       r.rolcanlogin or r.rolpassword is not null as handed_over,
       r.rolcanlogin and r.rolconnlimit <> 0 and coalesce(r.rolvaliduntil > pg_catalog.now(), true) as may_log_in,
       coalesce(pg_catalog.pg_has_role(pg_catalog.to_regrole($2)::oid, $3, 'member'), false) as up_to_date
     from pg_catalog.pg_authid r where r.rolname = $1`,
    [master_role, pooler_role, pooler_mark],
  )
  const [role] = rows
  if (role === undefined) throw new Error(`there is no role ${master_role}`)
  return role
}

/**
 * An older service gets the reserved roles and loses the rights that the master role must not have. Also where neither replicas nor a
 * pooler are wanted: a tenant must not be the first to make such a role. The pooler's is made last and marks that all is done.
 */
async function ensureUpToDate(effect: Effect, client: pg.Client, events: ObservedEvent[]): Promise<void> {
  await ensureRightsWithdrawn(effect, client, events)
  for (const role of await ensureReplicationReserved(effect, client)) {
    events.push({ kind: 'healed', message: `the role ${role} had REPLICATION, which no role of a tenant has` })
  }
  for (const role of reserved_roles) {
    await ensureReservedRole(effect, client, role).catch((error: unknown) => {
      // The feature that needs the role reports it.
      if (!(error instanceof TenantSetback)) throw error
    })
  }
}

async function ensureRightsWithdrawn(effect: Effect, client: pg.Client, events: ObservedEvent[]): Promise<void> {
  const { rows } = await client.query<{ rights: string[]; sees_postgres: boolean }>(
    `select array(select p.rolname::text from pg_catalog.pg_auth_members m join pg_catalog.pg_authid p on p.oid = m.roleid
             where m.member = r.oid and p.rolname = any ($2)) as rights,
       pg_catalog.has_database_privilege(r.oid, 'postgres', 'connect') as sees_postgres
     from pg_catalog.pg_authid r where r.rolname = $1`,
    [master_role, withdrawn_rights],
  )
  const { rights = [], sees_postgres } = rows[0] ?? {}
  if (rights.length > 0) {
    await effect('master role: withdraw rights')
    // Also from all roles to which the master role granted them.
    await client.query(`revoke ${rights.join(', ')} from ${master_role} cascade`)
    const message = `${rights.join(' and ')} was revoked from ${master_role} and from all roles to which it was granted on, because it shows verifiers or locks catalogs; grant rights on schemas and tables instead`
    events.push({ kind: 'changed', message })
  }
  if (sees_postgres !== true) return
  await effect('master role: out of database postgres')
  await client.query(`revoke all on database postgres from ${master_role}`)
}

async function ensureVerifier(
  effect: Effect,
  client: pg.Client,
  { rolpassword, may_log_in, handed_over }: Role,
  verifier: string,
  events: ObservedEvent[],
): Promise<void> {
  if (rolpassword === verifier && may_log_in) return
  await effect('master role: set verifier')
  await client.query(
    `alter role ${master_role} login connection limit -1 valid until 'infinity' password ${client.escapeLiteral(verifier)}`,
  )
  if (handed_over && !may_log_in) {
    events.push({ kind: 'healed', message: `a login as ${master_role} works again: the role was closed` })
  }
}
