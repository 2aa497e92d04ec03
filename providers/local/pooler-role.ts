// What the pooler needs inside PostgreSQL: a role without a password, which only the service's own user can be, and one
// function that this role alone may call and that gives it the verifier of another. Both are made on the primary.
//
// The function stands in pg_catalog, where customers can neither replace it nor meet it in their dumps. It knows no
// superuser and nobody who could not log in right now.
import type { Effect } from './effect.ts'
import { master_database, type Place } from './layout.ts'
import { pooler_role } from './settings.ts'
import { withSuperuser } from './superuser.ts'

const lookup = 'pg_catalog.howdah_pooler_lookup'

/** What PgBouncer asks at a login. */
export const pooler_lookup = `select role_name, verifier from ${lookup}($1)`

/** Changes whenever the function does, so that it is made anew. */
export const lookup_definition = `
  create or replace function ${lookup}(asked text) returns table (role_name text, verifier text)
  language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select rolname::text, rolpassword from pg_authid
    where rolname = asked and rolcanlogin and not rolsuper
      and rolpassword like 'SCRAM-SHA-256$%' and (rolvaliduntil is null or rolvaliduntil > now())
  $$`

export async function ensurePoolerRole(effect: Effect, primary: Place): Promise<void> {
  await withSuperuser(primary, { database: master_database }, async (client) => {
    // One transaction: there is no moment in which everybody may call the function. And no waiting for a standby.
    await client.query('begin; set local synchronous_commit = local')
    const { rowCount } = await client.query('select from pg_roles where rolname = $1', [pooler_role])
    await effect('pooler role: make')
    if (!rowCount) await client.query(`create role ${pooler_role} login noinherit`)
    await client.query(lookup_definition)
    await client.query(`revoke all on function ${lookup}(text) from public`)
    await client.query(`grant execute on function ${lookup}(text) to ${pooler_role}`)
    await client.query('commit')
  })
}
