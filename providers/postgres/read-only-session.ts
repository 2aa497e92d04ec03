// Sessions that asked to read only, and the role helpers of a tenant. Pure: the statements that make them in a database, each of one line,
// as single-user PostgreSQL reads them.
//
// 1. A session asks with `-c tsdb_admin.read_only_connection=true` at its start, or because of `alter role … set tsdb_admin.read_only_role`.
//    A trigger at the login answers; PostgreSQL has such triggers from 17 on.
// 2. No setting holds a session that may write: it can take each of them back. So the login is refused unless the session cannot write
//    without them either: its server is in recovery, or none of its roles has a right but to read.
// 3. All of it belongs to the superuser, and to the extension plpgsql: no tenant can alter or drop it, and no dump carries it.
// 4. The helpers run as the superuser. They name nothing outside pg_catalog, and only make or grant roles, which runs no code of a tenant.
import { master_role, pooler_role, standby_role, superuser } from './names.ts'

/** From here on PostgreSQL has triggers at the login. */
export const first_major_with_logins = 17

export const role_setting = 'tsdb_admin.read_only_role'
const connection_setting = 'tsdb_admin.read_only_connection'
const login_function = 'pg_catalog.howdah_read_only_login()'
const login_trigger = 'howdah_read_only_login'
export const helper_schema = 'timescale_functions'
/** No statement of theirs is among those of the tenant; without the library the second setting is an unknown name, which is ignored. */
const path = 'set search_path = pg_catalog, pg_temp set pg_stat_statements.track = none'
/** Like updatePassword. */
const [password_chars_min, password_chars_max] = [8, 256]
const name_bytes_max = 63

/** In one database, in one transaction. */
export function readOnlySessionSql(major: number, { helpers: has_helpers = true } = {}): string[] {
  return [...(has_helpers ? helperSql(major) : []), ...(major >= first_major_with_logins ? loginSql : [])]
}

/** Of the whole server. Without triggers no session would be held by it, so that no role has it. */
export const roleSettingSql = (major: number): string[] =>
  major >= first_major_with_logins ? [`grant set on parameter ${role_setting} to ${master_role}`] : []

/** Everything but what means no: a value that is not understood is not taken for one. */
const isOn = (value: string) =>
  `coalesce(lower(btrim(${value})), 'off') <> all (array['', 'off', 'false', 'no', '0', 'f', 'n'])`

const asks = [connection_setting, role_setting].map((name) => isOn(`current_setting('${name}', true)`))

const own_settings =
  'from pg_catalog.pg_db_role_setting s where s.setrole = (select r.oid from pg_catalog.pg_authid r where r.rolname = session_user)'

/** Of nearly all sessions, and quickly: each login pays for it. */
const asks_nothing = [
  ...[connection_setting, role_setting].map((name) => `current_setting('${name}', true) is null`),
  `not exists (select ${own_settings})`,
].join(' and ')

/** As it is stored: what a session says of it at its start would be in its place otherwise. */
const role_asks = [
  `exists (select ${own_settings} and s.setdatabase in (0, (select d.oid from pg_catalog.pg_database d where d.datname = current_database()))`,
  `and exists (select from unnest(s.setconfig) c where starts_with(lower(c), '${role_setting}=') and ${isOn(`split_part(c, '=', 2)`)}))`,
].join(' ')

const reading_roles = ['read_all_data', 'monitor', 'read_all_settings', 'read_all_stats', 'stat_scan_tables']
  .map((name) => `'pg_${name}'`)
  .join(', ')
const granted = (acl: string) =>
  `aclexplode(${acl}) a where (a.grantee = 0 or a.grantee in (select oid from mine)) and a.privilege_type`
const to = `case a.grantee when 0 then 'PUBLIC' else quote_ident(pg_catalog.pg_get_userbyid(a.grantee)) end`

/** The rights by which a session of this role could write, in words. `member` is by every way: inherited, or by `set role`. */
const ways = [
  `select format('the role %I may make roles or databases, or is a superuser', rolname) from mine where rolsuper or rolcreaterole or rolcreatedb or rolreplication`,
  `select format('it is a member of %I', rolname) from mine where rolname ~ '^pg_' and rolname not in (${reading_roles})`,
  `select format('the role %I owns something', rolname) from mine where exists (select from pg_catalog.pg_shdepend s where s.refclassid = 'pg_authid'::regclass and s.refobjid = mine.oid and s.deptype = 'o')`,
  `select format('%s on %s is granted to %s', a.privilege_type, c.oid::regclass, ${to}) from pg_catalog.pg_class c, ${granted('c.relacl')} <> 'SELECT' and c.relnamespace not in (select n.oid from pg_catalog.pg_namespace n where n.nspname in ('pg_catalog', 'information_schema'))`,
  `select format('%s on a column of %s is granted to %s', a.privilege_type, t.attrelid::regclass, ${to}) from pg_catalog.pg_attribute t, ${granted('t.attacl')} <> 'SELECT'`,
  `select format('CREATE on the schema %I is granted to %s', n.nspname, ${to}) from pg_catalog.pg_namespace n, ${granted('n.nspacl')} = 'CREATE'`,
  `select format('CREATE on the database %I is granted to %s', d.datname, ${to}) from pg_catalog.pg_database d, ${granted('d.datacl')} = 'CREATE'`,
  `select format('UPDATE on the large object %s is granted to %s', l.oid, ${to}) from pg_catalog.pg_largeobject_metadata l, ${granted('l.lomacl')} = 'UPDATE'`,
  `select format('%s on the parameter %s is granted to %s', a.privilege_type, p.parname, ${to}) from pg_catalog.pg_parameter_acl p, ${granted('p.paracl')} <> ''`,
  // It runs with the rights of its owner, whom an aggregate calls it for, too.
  `select format('the function %s is security definer and can be called by it', p.oid::regprocedure) from pg_catalog.pg_proc p join pg_catalog.pg_roles o on o.oid = p.proowner where p.prosecdef and not o.rolsuper and (exists (select from ${granted(`coalesce(p.proacl, acldefault('f', p.proowner))`)} = 'EXECUTE') or exists (select from pg_catalog.pg_depend d where d.classid = 'pg_proc'::regclass and d.refclassid = 'pg_proc'::regclass and d.refobjid = p.oid))`,
]

const way_sql = [
  `with mine as materialized (select * from pg_catalog.pg_roles r where pg_catalog.pg_has_role(session_user, r.oid, 'member'))`,
  `select found.way from (${ways.map((way) => `(${way} limit 1)`).join(' union all ')}) found (way) limit 1`,
].join(' ')

const refusal =
  'a session of %I cannot be held read-only by this server, because it could write: %s; log in at a read replica set, or as a role that has only rights to read'

const loginSql = [
  [
    `create or replace function ${login_function} returns event_trigger language plpgsql security definer ${path} as $body$`,
    `declare it text; begin if ${asks_nothing} then return; end if;`,
    `if not (${[...asks, role_asks].join(' or ')}) or pg_catalog.pg_is_in_recovery() then return; end if;`,
    `it := (${way_sql}); if it is not null then`,
    `raise insufficient_privilege using message = format('${refusal}', session_user, it); end if;`,
    `perform set_config('default_transaction_read_only', 'on', false); end $body$`,
  ].join(' '),
  `create event trigger ${login_trigger} on login execute function ${login_function}`,
  // Also in sessions that apply replicated changes.
  `alter event trigger ${login_trigger} enable always`,
  `alter extension plpgsql add function ${login_function}`,
  `alter extension plpgsql add event trigger ${login_trigger}`,
]

const reserved = [superuser, standby_role, pooler_role, master_role, 'pgbouncer', 'public', 'none']
  .map((name) => `'${name}'`)
  .join(', ')
const raise = (condition: string, error: string, sentence: string, ...values: string[]) =>
  `if ${condition} then raise ${error} using message = format(${[`'${sentence}'`, ...values].join(', ')}); end if;`
const raiseIfReserved = [
  raise(`name is null or btrim(name) = ''`, 'invalid_parameter_value', 'a role needs a name'),
  raise(
    `lower(name) ~ '^(pg_|howdah_)' or lower(name) in (${reserved})`,
    'reserved_name',
    'the name %I is reserved',
    'name',
  ),
]
const role = 'from pg_catalog.pg_roles r where r.rolname = name'
const raiseIfAbsent = raise(`not exists (select ${role})`, 'undefined_object', 'there is no role %I', 'name')
const memberOf = (member: string, group: string, more = '') =>
  `exists (select from pg_catalog.pg_auth_members m join pg_catalog.pg_roles g on g.oid = m.roleid join pg_catalog.pg_roles r on r.oid = m.member where r.rolname = ${member} and g.rolname = ${group}${more})`
const run = (sql: string, ...values: string[]) => `execute format('${sql}', ${values.join(', ')});`
/** As if the master role had made it: it can alter and drop it. */
const giveBack = run(`grant %I to ${master_role} with admin true, inherit true, set true`, 'name')

const helpers: Record<string, (major: number) => string[]> = {
  'create_bare_readonly_role(name text, password text)': (major) =>
    major < first_major_with_logins
      ? [`raise feature_not_supported using message = 'read-only roles need PostgreSQL 17 or newer';`]
      : [
          ...raiseIfReserved,
          raise(`exists (select ${role})`, 'duplicate_object', 'the role %I exists', 'name'),
          raise(
            `octet_length(name) > ${name_bytes_max}`,
            'name_too_long',
            `the name of a role has at most ${name_bytes_max} bytes`,
          ),
          raise(
            `coalesce(length(password), 0) not between ${password_chars_min} and ${password_chars_max}`,
            'invalid_parameter_value',
            `a password has ${password_chars_min} to ${password_chars_max} characters`,
          ),
          run('create role %I login password %L', 'name', 'password'),
          run(`alter role %I set ${role_setting} = true`, 'name'),
          // What its pooled sessions are reset to.
          run('alter role %I set default_transaction_read_only = on', 'name'),
          giveBack,
        ],
  // A role that the master role administers counts as a group of it, and no two roles can be members of each other.
  'grant_tsdbadmin_to_role(name text)': () => [
    ...raiseIfReserved,
    raiseIfAbsent,
    `if ${memberOf('name', `'${master_role}'`)} then return; end if;`,
    raise(
      `not ${memberOf(`'${master_role}'`, 'name', ' and m.admin_option')}`,
      'insufficient_privilege',
      `the role %I is not administered by ${master_role}`,
      'name',
    ),
    raise(
      `exists (select from pg_catalog.pg_auth_members m join pg_catalog.pg_roles g on g.oid = m.roleid join pg_catalog.pg_roles r on r.oid = m.member where g.rolname = name and r.rolname <> '${master_role}')`,
      'object_in_use',
      'the role %I has members; revoke it from them first',
      'name',
    ),
    run(`revoke %I from ${master_role} cascade`, 'name'),
    run(`grant ${master_role} to %I with inherit true, set true`, 'name'),
  ],
  'revoke_tsdbadmin_from_role(name text)': () => [
    ...raiseIfReserved,
    raiseIfAbsent,
    raise(
      `not ${memberOf('name', `'${master_role}'`)}`,
      'undefined_object',
      `the role %I is no member of ${master_role}`,
      'name',
    ),
    run(`revoke ${master_role} from %I cascade`, 'name'),
    giveBack,
  ],
}

/** The extension gets each object last: a dump leaves out the grants that stand by then. */
function helperSql(major: number): string[] {
  const functions = Object.entries(helpers).flatMap(([signature, body]) => {
    const name = `${helper_schema}.${signature}`
    const options = `returns void language plpgsql security definer ${path} set password_encryption = 'scram-sha-256'`
    return [
      `create function ${name} ${options} as $body$ begin ${body(major).join(' ')} end $body$`,
      `revoke all on function ${name} from public`,
      `grant execute on function ${name} to ${master_role}`,
      `alter extension plpgsql add function ${name}`,
    ]
  })
  return [
    `create schema ${helper_schema}`,
    `grant usage on schema ${helper_schema} to ${master_role}`,
    ...functions,
    `alter extension plpgsql add schema ${helper_schema}`,
  ]
}
