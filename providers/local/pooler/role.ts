// What the pooler needs inside PostgreSQL: a role without a password, which only the service's own user can be, and one
// function that gives this role the verifier of another. Both are made on the primary.
//
// The function stands in pg_catalog, where customers cannot replace it. Whoever has not logged in as that role gets nothing
// from it; it has no privileges of its own instead, because dumps would carry those to where there is no such function.
// It knows no superuser and nobody who could not log in right now.
import type pg from 'pg'
import type { Effect } from '../effect.ts'
import { master_database, type Place } from '../layout.ts'
import { pooler_role } from '../postgres/settings.ts'
import { withSuperuser } from '../postgres/superuser.ts'

const lookup = 'pg_catalog.howdah_pooler_lookup'

/** What PgBouncer asks at a login. */
export const pooler_lookup = `select role_name, verifier from ${lookup}($1)`

const lookup_body = `
  select rolname::text, rolpassword from pg_authid
  where session_user = '${pooler_role}' and rolname = asked and rolcanlogin and not rolsuper
    and rolpassword like 'SCRAM-SHA-256$%' and (rolvaliduntil is null or rolvaliduntil > now())
`

/** Looked at again and again: a customer may drop the database and make another one of that name. */
export async function ensurePoolerRole(effect: Effect, primary: Place): Promise<void> {
  await withSuperuser(primary, { database: master_database }, async (client) => {
    const there = await findParts(client)
    if (there.role && there.body === lookup_body) return
    await effect('pooler role: make')
    await client.query(
      `begin;
       -- Nobody has to wait for a standby.
       set local synchronous_commit = local;
       ${there.role ? '' : `create role ${pooler_role} login noinherit;`}
       create or replace function ${lookup}(asked text) returns table (role_name text, verifier text)
       language sql stable security definer set search_path = pg_catalog, pg_temp as $body$${lookup_body}$body$;
       commit`,
    )
  })
}

async function findParts(client: pg.Client): Promise<{ role: boolean; body: string | null }> {
  const { rows } = await client.query<{ role: boolean; body: string | null }>(
    `select exists (select from pg_roles where rolname = $1) as role,
            (select prosrc from pg_proc where oid = to_regprocedure($2)) as body`,
    [pooler_role, `${lookup}(text)`],
  )
  return rows[0] ?? { role: false, body: null }
}
