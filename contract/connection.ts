// How a program connects to a service: address, database and user, and the same as a line for a language or a tool. Pure.
// A password is in a line only where the caller gives one.
import type { Service } from './service.ts'

/** What clients log in as, and where to. */
export const master_user = 'tsdbadmin'
export const master_database = 'tsdb'
/** The same database, pooled by transaction. */
export const transaction_database = `${master_database}_transaction`

export type ConnectionChoice = {
  /** By the connection pooler. */
  pooled?: 'session' | 'transaction' | undefined
  /** A read replica set instead of the service itself, by its id. */
  replica_set_id?: string | undefined
}

type Address = { host: string; port: number }
/** `direct`: where the same databases are without their pooler, for what does not go by one. */
export type Connection = Address & { database: string; user: string; direct?: Address }

export type ConnectionSecrets = { password?: string | undefined; /** A file. */ ca?: string | undefined }

/** Undefined where there is no such pooler or replica set. */
export function connectionOf(service: Service, choice: ConnectionChoice = {}): Connection | undefined {
  const { pooled, replica_set_id } = choice
  const target =
    replica_set_id === undefined ? service : service.read_replica_sets.find(({ id }) => id === replica_set_id)
  const endpoint = pooled === undefined ? target?.endpoint : target?.connection_pooler?.endpoint
  if (endpoint === undefined) return undefined
  const database = pooled === 'transaction' ? transaction_database : master_database
  const { endpoint: direct } = target ?? service
  return { ...endpoint, database, user: master_user, ...(pooled !== undefined && { direct }) }
}

export const connection_formats = [
  'uri',
  'psql',
  'env',
  'jdbc',
  'prisma',
  'node',
  'postgres-js',
  'python',
  'sqlalchemy',
  'go',
  'ruby',
  'rust',
  'php',
  'pg_dump',
] as const
export type ConnectionFormat = (typeof connection_formats)[number]

export function connectionLine(it: Connection, format: ConnectionFormat, secrets: ConnectionSecrets = {}): string {
  return lines[format](it, secrets)
}

/** As libpq calls them, which is what most drivers understand. */
function variablesOf(it: Connection, { ca }: ConnectionSecrets): Record<string, string> {
  const tls = ca === undefined ? { sslmode: 'require' } : { sslmode: 'verify-full', sslrootcert: ca }
  return { host: it.host, port: String(it.port), dbname: it.database, user: it.user, ...tls }
}

/** The variables of the environment that psql and every driver over libpq read. */
export function connectionEnvironment(it: Connection, secrets: ConnectionSecrets): Record<string, string> {
  const { host = '', port = '', dbname = '', user = '', sslmode = '', sslrootcert } = variablesOf(it, secrets)
  return {
    PGHOST: host,
    PGPORT: port,
    PGDATABASE: dbname,
    PGUSER: user,
    PGSSLMODE: sslmode,
    ...(sslrootcert !== undefined && { PGSSLROOTCERT: sslrootcert }),
    ...(secrets.password !== undefined && { PGPASSWORD: secrets.password }),
  }
}

const lines: Record<ConnectionFormat, (it: Connection, secrets: ConnectionSecrets) => string> = {
  uri: uriOf,
  psql: (it, secrets) => `psql ${shellQuoted(keywordsOf(it, secrets))}`,
  env: (it, secrets) =>
    Object.entries(connectionEnvironment(it, secrets))
      .map(([name, value]) => `${name}=${shellQuoted(value)}`)
      .join(' '),
  jdbc: (it, secrets) => {
    const { host, port, dbname, ...more } = variablesOf(it, secrets)
    const query = { ...more, ...passwordOf(secrets), ...(isByTransaction(it) && { prepareThreshold: '0' }) }
    return `jdbc:postgresql://${hostInUri(host)}:${port}/${dbname}?${queryOf(query)}`
  },
  prisma: (it, secrets) => {
    const line = (name: string, at: Connection) => `${name}="${prismaUri(at, secrets)}"`
    const url = line('DATABASE_URL', it)
    // Its migrations hold locks of a session.
    return it.direct === undefined
      ? url
      : `${url}\n${line('DIRECT_URL', { ...it, ...it.direct, database: master_database })}`
  },
  node: ({ host, port, database, user }, secrets) =>
    `new pg.Client(${literalOf({ host, port, database, user }, secrets)})`,
  'postgres-js': (it, secrets) => {
    const { host, port, database, user } = it
    const more = isByTransaction(it) ? { prepare: false } : {}
    // By itself it compares the certificate with a name, and an address is none.
    return `postgres(${literalOf({ host, port, database, username: user, ...more }, secrets, { host })})`
  },
  python: (it, secrets) => {
    const more = isByTransaction(it) ? ', prepare_threshold=None' : ''
    return `psycopg.connect(${JSON.stringify(keywordsOf(it, secrets))}${more})`
  },
  sqlalchemy: (it, secrets) => {
    const more = isByTransaction(it) ? ', connect_args={"prepare_threshold": None}' : ''
    const uri = uriOf(it, secrets).replace(/^postgresql:/, 'postgresql+psycopg:')
    return `create_engine(${JSON.stringify(uri)}${more})`
  },
  go: (it, secrets) => `pgx.Connect(ctx, ${JSON.stringify(uriOf(it, secrets, { default_query_exec_mode: 'exec' }))})`,
  ruby: (it, secrets) => `PG.connect(${singleQuoted(keywordsOf(it, secrets))})`,
  // It prepares every statement under a name, whatever its address says.
  rust: (it, secrets) => `sqlx::PgPool::connect(${JSON.stringify(uriOf(it, secrets))}).await?`,
  php: (it, secrets) => {
    const { user = '', ...members } = variablesOf(it, secrets)
    const source = Object.entries(members).map(([name, value]) => `${name}=${keywordQuoted(value)}`)
    const password = secrets.password === undefined ? "getenv('PGPASSWORD')" : singleQuoted(secrets.password)
    const more = isByTransaction(it) ? ', [PDO::ATTR_EMULATE_PREPARES => true]' : ''
    return `new PDO(${singleQuoted(`pgsql:${source.join(';')}`)}, ${singleQuoted(user)}, ${password}${more})`
  },
  pg_dump: (it, secrets) => `pg_dump -d ${shellQuoted(keywordsOf(it, secrets))} -Fc -f ${master_database}.dump`,
}

/** Then a driver must prepare nothing for later: the next transaction may be in another session, where PgBouncer before 1.21 has none of it. */
function isByTransaction({ database }: Connection): boolean {
  return database === transaction_database
}

/** For JavaScript, with TLS, which may be told more. */
function literalOf(members: object, secrets: ConnectionSecrets, more_of_tls: object = {}): string {
  const tls =
    secrets.ca === undefined
      ? 'rejectUnauthorized: false'
      : [`ca: readFileSync(${JSON.stringify(secrets.ca)})`, ...membersOf(more_of_tls)].join(', ')
  return `{ ${membersOf({ ...members, ...passwordOf(secrets) }).join(', ')}, ssl: { ${tls} } }`
}

const membersOf = (members: object) =>
  Object.entries(members).map(([name, value]) => `${name}: ${JSON.stringify(value)}`)

function prismaUri(it: Connection, secrets: ConnectionSecrets): string {
  const { ca } = secrets
  const tls = ca === undefined ? { sslmode: 'require' } : { sslmode: 'require', sslcert: ca, sslaccept: 'strict' }
  return uriWith(it, secrets, { ...tls, ...(isByTransaction(it) && { pgbouncer: 'true' }) })
}

/** `by_transaction`: what the driver is told of a pooler by transaction. */
function uriOf(it: Connection, secrets: ConnectionSecrets, by_transaction: Record<string, string> = {}): string {
  const { sslmode = '', sslrootcert } = variablesOf(it, secrets)
  const tls = { sslmode, ...(sslrootcert !== undefined && { sslrootcert }) }
  return uriWith(it, secrets, { ...tls, ...(isByTransaction(it) && by_transaction) })
}

function uriWith(it: Connection, { password }: ConnectionSecrets, query: Record<string, string>): string {
  const login = password === undefined ? it.user : `${it.user}:${encodeURIComponent(password)}`
  return `postgresql://${login}@${hostInUri(it.host)}:${it.port}/${it.database}?${queryOf(query)}`
}

/** A path stays readable: a slash has no other meaning there. */
function queryOf(members: Record<string, string>): string {
  return new URLSearchParams(members).toString().replaceAll('%2F', '/').replaceAll('+', '%20')
}

/** libpq's own form: `host=127.0.0.1 port=5432 …`. */
function keywordsOf(it: Connection, secrets: ConnectionSecrets): string {
  return Object.entries({ ...variablesOf(it, secrets), ...passwordOf(secrets) })
    .map(([name, value]) => `${name}=${keywordQuoted(value)}`)
    .join(' ')
}

function keywordQuoted(value: string): string {
  return /^[\w.:/-]+$/.test(value) ? value : `'${value.replaceAll(/(['\\])/g, '\\$1')}'`
}

function passwordOf({ password }: ConnectionSecrets): { password?: string } {
  return password === undefined ? {} : { password }
}

/** An IPv6 address has colons of its own. */
function hostInUri(host = ''): string {
  return host.includes(':') ? `[${host}]` : host
}

/** For Ruby and PHP, which read nothing else inside. */
function singleQuoted(text: string): string {
  return `'${text.replaceAll(/['\\]/g, String.raw`\$&`)}'`
}

function shellQuoted(text: string): string {
  return /^[\w.:/=@%+,-]+$/.test(text) ? text : `'${text.replaceAll("'", String.raw`'\''`)}'`
}
