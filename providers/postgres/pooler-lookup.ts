// The function by which the pooler asks PostgreSQL for the verifier of a role. Pure: its text, and how it is called. It is
// part of the template, of template1 too, so that a database that a tenant makes has it.
//
// It is in pg_catalog, where tenants cannot replace it. A session that has not logged in as the pooler's role gets nothing
// from it. It is not protected by privileges, because dumps would carry those to servers without such a function.
// It returns no superuser and no role that could not log in right now.
import { pooler_role } from './names.ts'

export const lookup_function = 'pg_catalog.howdah_pooler_lookup'

/** What PgBouncer asks at a login. */
export const pooler_lookup = `select role_name, verifier from ${lookup_function}($1)`

/** Of one line, as single-user PostgreSQL reads it. */
export const lookup_body = [
  'select r.rolname::pg_catalog.text, r.rolpassword from pg_catalog.pg_authid r',
  `where session_user operator(pg_catalog.=) '${pooler_role}' and r.rolname operator(pg_catalog.=) asked`,
  `and r.rolcanlogin and not r.rolsuper and r.rolpassword operator(pg_catalog.~~) 'SCRAM-SHA-256$%'`,
  'and (r.rolvaliduntil is null or r.rolvaliduntil operator(pg_catalog.>) pg_catalog.now())',
].join(' ')

export const lookup_sql = [
  `create or replace function ${lookup_function}(asked pg_catalog.text)`,
  'returns table (role_name pg_catalog.text, verifier pg_catalog.text) language sql stable security definer',
  `set search_path = pg_catalog, pg_temp as $body$${lookup_body}$body$`,
].join(' ')
