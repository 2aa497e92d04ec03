// The pooler's settings as text: what each line promises, whatever the folders are called.
import { expect, test } from 'vitest'
import { poolerLimitsOf, poolerSettingsOf, poolerUsersOf } from './pooler-settings.ts'

function settingsFor(version: string): string {
  return poolerSettingsOf({
    listen: { host: '127.0.0.1', port: 20_002 },
    target_sockets: "/it's here/run",
    target_port: 20_001,
    certificate: "/it's here/server.pem",
    pid_file: "/it's here/pooler/pid",
    users_file: "/it's here/pooler.users",
    max_connections: 50,
    version,
  })
}

test.each([
  { max_connections: 50, servers: 33 },
  { max_connections: 100, servers: 83 },
  { max_connections: 1000, servers: 983 },
  // Of no size, but never zero, which would mean that there is no limit.
  { max_connections: 10, servers: 1 },
])('of $max_connections connections it uses $servers', ({ max_connections, servers }) => {
  const clients = { session_clients: servers, transaction_clients: servers * 20, clients: servers * 21 }
  expect(poolerLimitsOf(max_connections)).toEqual({ servers, ...clients })
})

test.each([
  { version: '0.0', tracks: false, prepares: false, counts: false },
  { version: '1.18', tracks: false, prepares: false, counts: false },
  { version: '1.20', tracks: true, prepares: false, counts: false },
  { version: '1.22', tracks: true, prepares: true, counts: false },
  { version: '1.24', tracks: true, prepares: true, counts: true },
  { version: '2.0', tracks: true, prepares: true, counts: true },
])('PgBouncer $version is told nothing that it does not know', ({ version, tracks, prepares, counts }) => {
  const text = settingsFor(version)
  expect(text.includes('\ntrack_extra_parameters = IntervalStyle, default_transaction_read_only\n')).toBe(tracks)
  expect(text.includes('\nmax_prepared_statements = 200\n')).toBe(prepares)
  expect(text.includes(' pool_mode=session max_db_client_connections=33\n')).toBe(counts)
  expect(text.includes(' pool_mode=transaction max_db_client_connections=660\n')).toBe(counts)
})

test('both databases are pools of the one database, each in its own way, and nothing goes without TLS', () => {
  const target = `host='/it''s here/run' port=20001 dbname=tsdb`
  const limits = 'auth_user=howdah_pooler pool_size=33 max_db_connections=33'
  expect(settingsFor('1.18').split('\n')).toEqual(
    expect.arrayContaining([
      `tsdb = ${target} ${limits} pool_mode=session`,
      `tsdb_transaction = ${target} ${limits} pool_mode=transaction`,
      'listen_port = 20002',
      'max_client_conn = 693',
      'auth_type = scram-sha-256',
      'client_tls_sslmode = require',
      "client_tls_ca_file = /it's here/server.pem",
      "auth_file = /it's here/pooler.users",
    ]),
  )
})

test('of the three users that it knows only the master role can log in', () => {
  const verifier = 'SCRAM-SHA-256$4096:c2FsdA==$c3RvcmVk:c2VydmVy'
  const closed = 'md500000000000000000000000000000000'
  expect(poolerUsersOf(verifier)).toBe(
    `"tsdbadmin" "${verifier}"\n"howdah_pooler" "${closed}"\n"pgbouncer" "${closed}"\n`,
  )
})
