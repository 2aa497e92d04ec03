// What the pooler needs inside PostgreSQL: a role without a password, which only the service's own user can be, and the function
// that gives this role the verifier of another. Both are part of the template; older services get them here, and so
// does a database that a tenant made anew from template0.
//
// It is checked as the pooler itself connects, in the tenant's database: with that role, and no settings but the role's own. A
// superuser's session in that database is opened only to make the function, and names nothing outside pg_catalog.
import pg from 'pg'
import type { ObservedEvent } from '../../provider.ts'
import type { Effect } from '../host/effect.ts'
import { type Node } from '../host/layout.ts'
import { ensureReservedRole } from '../postgres/reserved-roles.ts'
import { withRole, withSuperuser } from '../postgres/superuser.ts'
import { withCatalogChanges } from '../postgres/tenant-locks.ts'
import { TenantSetback, tenantSetbackOf } from '../postgres/tenant-setback.ts'
import { lookup_body, lookup_function, lookup_sql, pooler_lookup } from '../../postgres/pooler-lookup.ts'
import { master_database, master_role, pooler_role } from '../../postgres/names.ts'

/** Checked in every pass: a tenant may drop the database and make another one of that name. */
export async function ensurePoolerRole(effect: Effect, primary: Node, events: ObservedEvent[]): Promise<void> {
  if ((await lookupTrouble(primary)) === undefined) return
  const major = await withCatalogChanges(primary, events, async (client) => {
    await ensureReservedRole(effect, client, pooler_role)
    return await ensureConnect(effect, client)
  })
  const still = await lookupTrouble(primary)
  if (still === undefined) return
  if (still !== no_lookup) throw new TenantSetback(`the pooler cannot ask for verifiers in database tsdb: ${still}`)
  await effect('pooler lookup: make')
  await withSuperuser(primary, { database: master_database, major }, (client) => client.query(lookup_sql))
}

const no_lookup = 'there is no lookup'

/** Why a lookup as the pooler makes it does not succeed; undefined when it does. */
async function lookupTrouble(primary: Node): Promise<string | undefined> {
  try {
    return await withRole(primary, pooler_role, master_database, async (client) => {
      const { rows: found } = await client.query<{ body: string }>(
        `select p.prosrc as body from pg_catalog.pg_proc p
         where p.oid = pg_catalog.to_regprocedure('${lookup_function}(pg_catalog.text)')`,
      )
      if (found[0]?.body !== lookup_body) return no_lookup
      const { rowCount } = await client.query(pooler_lookup, [master_role])
      return rowCount === 1 ? undefined : `it does not find the role ${master_role}`
    })
  } catch (error) {
    // An error of a stopping server, or of a broken connection, says nothing about the role.
    const refused = error instanceof pg.DatabaseError && !error.code?.startsWith('57P')
    if (!refused || tenantSetbackOf(error)) throw error
    return error.message
  }
}

/** A tenant that closes its database to the public closes it to this role too. Returns the server's major version. */
async function ensureConnect(effect: Effect, client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ major: number; may: boolean | null }>(
    `select pg_catalog.current_setting('server_version_num')::int / 10000 as major,
       (select pg_catalog.has_database_privilege($1, d.oid, 'connect') from pg_catalog.pg_database d
        where d.datname = $2) as may`,
    [pooler_role, master_database],
  )
  if (rows[0]?.may === false) {
    await effect('pooler role: let in')
    await client.query(`grant connect on database ${master_database} to ${pooler_role}`)
  }
  return rows[0]?.major ?? 0
}
