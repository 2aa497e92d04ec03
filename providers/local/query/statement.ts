// One statement by the extended protocol of PostgreSQL, with limits on what is kept of its answer. Values stay as PostgreSQL writes them.
import pg from 'pg'
import type { QueryAnswer, QuerySpec } from '../../query.ts'

const kept_bytes_max = 1024 ** 2
const notices_max = 50
const notice_chars_max = 1_000

type Statement = Omit<QueryAnswer, 'took_ms' | 'columns'> & {
  columns: readonly { name: string }[]
  /** In the order of the columns. */
  type_ids: readonly number[]
}

type Row = (string | null)[]

export async function runStatement(client: pg.Client, spec: QuerySpec): Promise<Statement> {
  const { statement: text, parameters, mode, row_limit } = spec
  const rows: Row[] = []
  const kept = { bytes: 0, truncated: false }
  const notices: string[] = []
  client.on('notice', ({ severity, message }) => {
    if (notices.length < notices_max) notices.push(`${severity}: ${message}`.slice(0, notice_chars_max))
  })
  const result = await submit(client, newQuery(text, parameters, mode === 'read' ? row_limit + 1 : 0), (row) => {
    if (rows.length === row_limit || kept.bytes > kept_bytes_max) kept.truncated = true
    else {
      kept.bytes += row.reduce((sum, value) => sum + Buffer.byteLength(value ?? ''), 0)
      if (kept.bytes > kept_bytes_max) kept.truncated = true
      else rows.push(row)
    }
  })
  return {
    columns: result.fields.map(({ name }) => ({ name })),
    type_ids: result.fields.map(({ dataTypeID }) => dataTypeID),
    rows,
    // A statement that was left before its end has no count.
    row_count: result.rowCount ?? rows.length,
    truncated: kept.truncated,
    notices,
    command: result.command ?? 'SELECT',
  }
}

/** As PostgreSQL calls them. In its own session, and with names that only PostgreSQL itself can have made. */
export async function typeNames(client: pg.Client, type_ids: readonly number[]): Promise<string[]> {
  if (type_ids.length === 0) return []
  const { rows } = await client.query<[string]>({
    text: `select pg_catalog.format_type(t.id, null) from pg_catalog.unnest($1::pg_catalog.oid[]) with ordinality t (id, at)
           order by t.at using operator(pg_catalog.<)`,
    values: [type_ids],
    rowMode: 'array',
  })
  return rows.map(([name]) => name)
}

/** What the driver has, and its types do not know. */
type Suspendable = pg.Query & { handlePortalSuspended(connection: { sync(): void }): void }

/** `rows`: after so many the statement is left; 0: it runs to its end. */
function newQuery(text: string, values: readonly (string | null)[], rows: number): pg.Query {
  const as_text = { getTypeParser: () => (value: string) => value }
  const config = { text, values: [...values], rows, queryMode: 'extended', rowMode: 'array', types: as_text }
  const query = new pg.Query(config) as Suspendable
  // The driver would ask for the next rows.
  query.handlePortalSuspended = (connection) => connection.sync()
  return query
}

type Result = { fields: pg.FieldDef[]; rowCount: number | null; command: string | null }

function submit(client: pg.Client, query: pg.Query, onRow: (row: Row) => void): Promise<Result> {
  return new Promise((resolve, reject) => {
    query.on('row', onRow)
    query.on('error', reject)
    query.on('end', resolve)
    client.query(query)
  })
}
