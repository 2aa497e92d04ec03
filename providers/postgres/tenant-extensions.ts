// Which extensions a tenant may make beside those that their authors call trusted, and why the others of PostgreSQL's own are refused.
// The one list: the control files, the README and the tests follow from it. Pure.
//
// The script of an offered extension runs as the superuser, in a schema of the tenant's choice. So an extension is here only if
// 1. its scripts make functions in C and objects on top of these, and run nothing that a tenant could have put in their way, and
// 2. its functions check their caller themselves, and neither read nor change a row, a file or a process of others.

export const tenant_extensions = [
  'moddatetime',
  'pg_buffercache',
  'pg_freespacemap',
  'pg_prewarm',
  'pg_stat_statements',
  'pg_visibility',
  'pgrowlocks',
  'pgstattuple',
  'vector',
] as const

const reaches_out = 'it connects to other servers from inside this one, past their client rules'
const not_sandboxed = 'its functions run programs and reach files as the user of the server'
const shows_pages = 'it shows raw pages and WAL, also of tables that hold verifiers'
const trusts_names = 'it believes names that any role can put in its way'
const superseded = 'it was replaced by a feature of PostgreSQL itself'

/** `create extension` is refused with this reason. */
export const refused_extensions: Readonly<Record<string, string>> = {
  amcheck: 'only a superuser may call its functions',
  autoinc: superseded,
  bloom: 'it adds an access method, whose code no role but a superuser may bring',
  bool_plperlu: not_sandboxed,
  dblink: reaches_out,
  dict_xsyn: 'it reads files of the server',
  earthdistance: trusts_names,
  file_fdw: 'it reads files of the server and runs programs',
  hstore_plperl: trusts_names,
  hstore_plperlu: not_sandboxed,
  hstore_plpython3u: not_sandboxed,
  insert_username: superseded,
  intagg: superseded,
  jsonb_plperlu: not_sandboxed,
  jsonb_plpython3u: not_sandboxed,
  ltree_plpython3u: not_sandboxed,
  pageinspect: shows_pages,
  pg_logicalinspect: shows_pages,
  pg_surgery: 'it changes rows without regard to transactions',
  pg_walinspect: shows_pages,
  plperlu: not_sandboxed,
  plpython3u: not_sandboxed,
  pltclu: not_sandboxed,
  postgres_fdw: reaches_out,
  refint: superseded,
  sslinfo: superseded,
  xml2: superseded,
}
