// The settings of a service's connection pooler, which is PgBouncer. Pure: the same spec gives the same text.
//
// 1. Every role that can log in directly can log in here: PgBouncer asks PostgreSQL for the verifier at each login.
// 2. No password is stored. The file of users has the master role's verifier, which its statistics need, and for the two
//    users that PgBouncer knows by itself a value that no password fits: without it an empty password would log in.
// 3. Nothing that a client does a thousand times a second is logged.
import type { Endpoint } from '../provider.ts'
import { master_database, master_role, pooler_role, transaction_database } from './names.ts'
import { pooler_lookup } from './pooler-lookup.ts'

type PoolerSettingsSpec = {
  listen: Endpoint
  /** The folder of PostgreSQL's unix socket, and the port that the socket is named after; or PostgreSQL's host and port. */
  target_sockets: string
  target_port: number
  /** With the key in the same file, unless that has one of its own. */
  certificate: string
  key?: string
  /** By which a PostgreSQL on another host is verified; absent: it is on this one. */
  target_authority?: string
  pid_file: string
  users_file: string
  max_connections: number
  /** Of PgBouncer. */
  version: string
}

/** Connections that the pooler leaves to direct logins and to PostgreSQL's own needs. */
const direct_connections = 17
const transaction_clients_each = 20
/** Kept on each connection; PgBouncer's own default where it has one. */
const prepared_statements_max = 200

/** How many connections there may be at once, and how many clients: by session, by transaction, and of both together. */
export function poolerLimitsOf(max_connections: number) {
  const servers = Math.max(1, max_connections - direct_connections)
  const [session_clients, transaction_clients] = [servers, servers * transaction_clients_each]
  return { servers, session_clients, transaction_clients, clients: session_clients + transaction_clients }
}

export function poolerSettingsOf(spec: PoolerSettingsSpec): string {
  const { servers, session_clients, transaction_clients } = poolerLimitsOf(spec.max_connections)
  const target = `host=${quoted(spec.target_sockets)} port=${spec.target_port} dbname=${master_database}`
  const pool = `auth_user=${pooler_role} pool_size=${servers} max_db_connections=${servers}`
  // Older versions limit only all clients together.
  const at_most = (clients: number) => (isAtLeast(spec.version, '1.24') ? ` max_db_client_connections=${clients}` : '')
  return [
    '; Written by Howdah; changes made here are undone by the next pass.',
    '[databases]',
    `${master_database} = ${target} ${pool} pool_mode=session${at_most(session_clients)}`,
    `${transaction_database} = ${target} ${pool} pool_mode=transaction${at_most(transaction_clients)}`,
    '[pgbouncer]',
    ...Object.entries(valuesOf(spec)).map(([name, value]) => `${name} = ${value}`),
    '',
  ].join('\n')
}

export function poolerUsersOf(password_verifier: string): string {
  // The form of an MD5 hash: where logins are by SCRAM, none of such a user succeeds.
  const closed = `md5${'0'.repeat(32)}`
  const users = { [master_role]: password_verifier, [pooler_role]: closed, pgbouncer: closed }
  return Object.entries(users)
    .map(([name, secret]) => `"${name}" "${secret}"\n`)
    .join('')
}

function valuesOf({ listen, certificate, key, max_connections, version, ...files }: PoolerSettingsSpec) {
  const { servers, clients } = poolerLimitsOf(max_connections)
  return {
    listen_addr: listen.host,
    listen_port: listen.port,
    unix_socket_dir: '',
    pidfile: files.pid_file,
    auth_type: 'scram-sha-256',
    auth_file: files.users_file,
    auth_query: pooler_lookup,
    stats_users: master_role,
    client_tls_sslmode: 'require',
    client_tls_cert_file: certificate,
    client_tls_key_file: key ?? certificate,
    // Certificates of clients are not requested; but without a file of its own it loads the host's, and not every host has one.
    client_tls_ca_file: certificate,
    client_tls_protocols: 'secure',
    ...(files.target_authority && {
      server_tls_sslmode: 'verify-full',
      server_tls_ca_file: files.target_authority,
      server_tls_protocols: 'secure',
    }),
    max_client_conn: clients,
    // One role has no more than this in both databases together.
    max_user_connections: servers,
    // Soon after PostgreSQL is back, or another node has taken over, clients go on. Each failed try may be a line in
    // the tenant's log.
    server_login_retry: 0.25,
    // A client that waits longer gets an error, instead of waiting for ever for other clients to release a connection.
    query_wait_timeout: 60,
    client_login_timeout: 15,
    server_idle_timeout: 300,
    // A client that vanished must not hold its connection for hours.
    tcp_keepidle: 60,
    tcp_keepintvl: 15,
    tcp_keepcnt: 4,
    // Prepared statements of a client exist in each of its transactions; older versions cannot keep them.
    ...(isAtLeast(version, '1.21') && { max_prepared_statements: prepared_statements_max }),
    // What sessions may ask for in `options` at their start, and keep from transaction to transaction, beside what PgBouncer tracks by itself.
    // Not search_path: PgBouncer before 1.25.1 makes it a part of a statement, unquoted, and that before the client has logged in.
    ...(isAtLeast(version, '1.20') && { track_extra_parameters: 'IntervalStyle, default_transaction_read_only' }),
    // What drivers send by themselves and what changes no result.
    ignore_startup_parameters: 'extra_float_digits, geqo',
    log_connections: 0,
    log_disconnections: 0,
    log_pooler_errors: 0,
    log_stats: 0,
  }
}

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`

export function isAtLeast(version: string, wanted: '1.20' | '1.21' | '1.24'): boolean {
  const [[major = 0, minor = 0], [wanted_major = 0, wanted_minor = 0]] = [parts(version), parts(wanted)]
  return major > wanted_major || (major === wanted_major && minor >= wanted_minor)
}

const parts = (version: string) => version.split('.').map(Number)
