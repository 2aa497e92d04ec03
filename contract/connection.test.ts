// How programs connect: which address is chosen, and every line as its reader wants it.
import { expect, test } from 'vitest'
import { type ConnectionFormat, connectionEnvironment, connectionLine, connectionOf } from './connection.ts'
import { exampleOf } from './example.ts'
import type { ReadReplicaSet } from './replica-set.ts'
import { Service } from './service.ts'

const example = exampleOf(Service) as Service // made of the schema's own examples
const { connection_pooler: _of_set, ...set } = example.read_replica_sets[0] as ReadReplicaSet // it has one
const service: Service = {
  ...example,
  endpoint: { host: '10.0.0.1', port: 5432 },
  connection_pooler: { endpoint: { host: '10.0.0.1', port: 6432 } },
  read_replica_sets: [{ ...set, id: 'set', endpoint: { host: '10.0.0.1', port: 5433 } }],
}
const { connection_pooler: _, ...without_pooler } = service
const { endpoint: direct } = service

test.each([
  [service, {}, { port: 5432, database: 'tsdb' }],
  [service, { pooled: 'session' }, { port: 6432, database: 'tsdb', direct }],
  [service, { pooled: 'transaction' }, { port: 6432, database: 'tsdb_transaction', direct }],
  [service, { replica_set_id: 'set' }, { port: 5433, database: 'tsdb' }],
  [service, { replica_set_id: 'set', pooled: 'session' }, undefined],
  [service, { replica_set_id: 'other' }, undefined],
  [without_pooler, { pooled: 'session' }, undefined],
] as const)('a choice leads to its own address (%#)', (of, choice, expected) => {
  expect(connectionOf(of, choice)).toEqual(expected && { host: '10.0.0.1', user: 'tsdbadmin', ...expected })
})

const it = { host: '10.0.0.1', port: 5432, database: 'tsdb', user: 'tsdbadmin' }
const ca = '/home/ada/my ca.pem'

test.each<[ConnectionFormat, { password?: string; ca?: string }, string]>([
  ['uri', {}, 'postgresql://tsdbadmin@10.0.0.1:5432/tsdb?sslmode=require'],
  ['uri', { ca: '/ca.pem' }, 'postgresql://tsdbadmin@10.0.0.1:5432/tsdb?sslmode=verify-full&sslrootcert=/ca.pem'],
  ['uri', { ca }, 'postgresql://tsdbadmin@10.0.0.1:5432/tsdb?sslmode=verify-full&sslrootcert=/home/ada/my%20ca.pem'],
  ['uri', { password: 'a:b@c/d' }, 'postgresql://tsdbadmin:a%3Ab%40c%2Fd@10.0.0.1:5432/tsdb?sslmode=require'],
  [
    'psql',
    { ca },
    String.raw`psql 'host=10.0.0.1 port=5432 dbname=tsdb user=tsdbadmin sslmode=verify-full sslrootcert='\''/home/ada/my ca.pem'\'''`,
  ],
  ['env', {}, 'PGHOST=10.0.0.1 PGPORT=5432 PGDATABASE=tsdb PGUSER=tsdbadmin PGSSLMODE=require'],
  [
    'env',
    { password: "it's", ca: '/ca.pem' },
    String.raw`PGHOST=10.0.0.1 PGPORT=5432 PGDATABASE=tsdb PGUSER=tsdbadmin PGSSLMODE=verify-full PGSSLROOTCERT=/ca.pem PGPASSWORD='it'\''s'`,
  ],
  ['jdbc', { password: 'x' }, 'jdbc:postgresql://10.0.0.1:5432/tsdb?user=tsdbadmin&sslmode=require&password=x'],
  [
    'prisma',
    { ca: '/ca.pem' },
    'DATABASE_URL="postgresql://tsdbadmin@10.0.0.1:5432/tsdb?sslmode=require&sslcert=/ca.pem&sslaccept=strict"',
  ],
  [
    'node',
    { ca: '/ca.pem', password: 'x"' },
    String.raw`new pg.Client({ host: "10.0.0.1", port: 5432, database: "tsdb", user: "tsdbadmin", password: "x\"", ssl: { ca: readFileSync("/ca.pem") } })`,
  ],
  [
    'postgres-js',
    { ca: '/ca.pem', password: 'x' },
    'postgres({ host: "10.0.0.1", port: 5432, database: "tsdb", username: "tsdbadmin", password: "x", ssl: { ca: readFileSync("/ca.pem"), host: "10.0.0.1" } })',
  ],
  [
    'sqlalchemy',
    { password: 'x' },
    'create_engine("postgresql+psycopg://tsdbadmin:x@10.0.0.1:5432/tsdb?sslmode=require")',
  ],
  ['python', {}, 'psycopg.connect("host=10.0.0.1 port=5432 dbname=tsdb user=tsdbadmin sslmode=require")'],
  ['go', {}, 'pgx.Connect(ctx, "postgresql://tsdbadmin@10.0.0.1:5432/tsdb?sslmode=require")'],
  [
    'ruby',
    { password: "it's" },
    String.raw`PG.connect('host=10.0.0.1 port=5432 dbname=tsdb user=tsdbadmin sslmode=require password=\'it\\\'s\'')`,
  ],
  ['rust', {}, 'sqlx::PgPool::connect("postgresql://tsdbadmin@10.0.0.1:5432/tsdb?sslmode=require").await?'],
  [
    'php',
    { ca: '/ca.pem' },
    `new PDO('pgsql:host=10.0.0.1;port=5432;dbname=tsdb;sslmode=verify-full;sslrootcert=/ca.pem', 'tsdbadmin', getenv('PGPASSWORD'))`,
  ],
  [
    'php',
    { password: '$x' },
    `new PDO('pgsql:host=10.0.0.1;port=5432;dbname=tsdb;sslmode=require', 'tsdbadmin', '$x')`,
  ],
  ['pg_dump', {}, `pg_dump -d 'host=10.0.0.1 port=5432 dbname=tsdb user=tsdbadmin sslmode=require' -Fc -f tsdb.dump`],
])('as %s with %j', (format, secrets, line) => {
  expect(connectionLine(it, format, secrets)).toBe(line)
})

test('prisma is told of a pooler by transaction and of the address without it, and IPv6 has its brackets', () => {
  const pooled = { ...it, host: '::1', port: 6432, database: 'tsdb_transaction', direct: { host: '::1', port: 5432 } }
  expect(connectionLine(pooled, 'prisma').split('\n')).toEqual([
    'DATABASE_URL="postgresql://tsdbadmin@[::1]:6432/tsdb_transaction?sslmode=require&pgbouncer=true"',
    'DIRECT_URL="postgresql://tsdbadmin@[::1]:5432/tsdb?sslmode=require"',
  ])
})

test.each<[ConnectionFormat, string]>([
  ['postgres-js', '"tsdbadmin", prepare: false, ssl:'],
  ['python', '", prepare_threshold=None)'],
  ['sqlalchemy', '", connect_args={"prepare_threshold": None})'],
  ['go', '&default_query_exec_mode=exec")'],
  ['jdbc', '&prepareThreshold=0'],
  ['php', ', [PDO::ATTR_EMULATE_PREPARES => true])'],
])('through a pooler by transaction %s is told to prepare nothing for later', (format, words) => {
  expect(connectionLine({ ...it, database: 'tsdb_transaction' }, format)).toContain(words)
  expect(connectionLine(it, format)).not.toContain(words)
})

test('PHP reads a file whose name has spaces', () => {
  expect(connectionLine(it, 'php', { ca })).toContain(String.raw`sslrootcert=\'/home/ada/my ca.pem\''`)
})

test('no line has a password that was not given', () => {
  expect(connectionEnvironment(it, { ca })).not.toHaveProperty('PGPASSWORD')
})
