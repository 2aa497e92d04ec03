// The tools that ask a database. All of them are one statement through the API's runQuery: its role and its transaction are what keeps a
// statement from writing; nothing here reads its text.
import { api } from '#contract/api.ts'
import { Fault } from '#contract/fault.ts'
import { query_defaults, type QueryResult } from '#contract/query.ts'
import { annotationsOf, inputOf, toolOf } from '#contract/tool.ts'
import { type Args, type At, placeOf, textOf, type Tool, type ToolAnswer, type World } from './tool.ts'

type Statement = {
  query: string
  parameters?: (string | null)[]
  database?: string
  mode?: 'read' | 'write'
  row_limit?: number
}

const service_id = { type: 'string', description: 'Id or exact name.' }
const project_id = { type: 'string' }
const database = { type: 'string', description: `Left out: ${query_defaults.database}.` }

export function runSqlTool(writes: boolean): Tool {
  const { inputSchema } = toolOf('runQuery', api.runQuery)
  const { mode, ...properties } = inputSchema.properties
  return {
    name: 'run_sql',
    description: `Run one SQL statement in a service, as a role with the rights of tsdbadmin. ${
      writes ? 'mode write commits; else nothing is written.' : 'Nothing is written.'
    } To try a change first: try_on_fork.`,
    inputSchema: { ...inputSchema, properties: { ...properties, ...(writes && { mode: mode ?? {} }) } },
    annotations: { readOnlyHint: !writes, destructiveHint: writes, openWorldHint: true },
    run: async (world, args) => {
      const at = await placeOf(world, args)
      const mode = args['mode'] === 'write' ? 'write' : 'read'
      if (mode === 'write') await requireWritable(world, at)
      const { project_id: _project, service_id: _service, ...body } = args
      return answerOf(await world.client.runQuery({ ...at, body: { ...body, query: textOf(args, 'query'), mode } }))
    },
  }
}

async function requireWritable({ client, writes, prod_writes }: World, at: At): Promise<void> {
  if (!writes) throw new Fault('FORBIDDEN', 'this connection only reads; its user allows writes with --write')
  const { metadata } = await client.getService(at)
  if (metadata.environment === 'PROD' && !prod_writes)
    throw new Fault(
      'FORBIDDEN',
      'the service is tagged PROD, and this connection was not started with --allow-prod-writes',
    )
}

/** Names of columns are the tenant's words too. */
export function answerOf({ columns, rows, notices, ...facts }: QueryResult): ToolAnswer {
  const lines = [columns.map(({ name, type }) => `${name} (${type})`), ...rows].map((line) => JSON.stringify(line))
  const words = [...(columns.length > 0 ? lines : []), ...notices].join('\n')
  return { data: facts, ...(words !== '' && { words }) }
}

const listTables: Statement = {
  query: `select n.nspname as schema, c.relname as name,
      case c.relkind when 'r' then 'table' when 'p' then 'partitioned table' when 'v' then 'view' when 'm' then 'materialized view' else 'foreign table' end as kind,
      pg_catalog.pg_size_pretty(pg_catalog.pg_total_relation_size(c.oid)) as size, c.reltuples::pg_catalog.int8 as about_rows
    from pg_catalog.pg_class c join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace
    where c.relkind in ('r', 'p', 'v', 'm', 'f') and n.nspname !~ '^(pg_|information_schema$)'
    order by pg_catalog.pg_total_relation_size(c.oid) desc`,
}

export const describeSchema: Statement = {
  query: `select a.attrelid::pg_catalog.regclass as of, a.attname as column, pg_catalog.format_type(a.atttypid, a.atttypmod) as type,
      a.attnotnull as not_null, pg_catalog.col_description(a.attrelid, a.attnum) as comment
    from pg_catalog.pg_attribute a join pg_catalog.pg_class c on c.oid operator(pg_catalog.=) a.attrelid
      join pg_catalog.pg_namespace n on n.oid operator(pg_catalog.=) c.relnamespace
    where a.attnum > 0 and not a.attisdropped and c.relkind in ('r', 'p', 'v', 'm', 'f')
      and n.nspname !~ '^(pg_|information_schema$)' and ($1::pg_catalog.text is null or c.relname operator(pg_catalog.=) $1)
    order by 1, a.attnum`,
  parameters: [null],
}

const topStatements: Statement = {
  query: `select calls, pg_catalog.round(total_exec_time) as total_ms, pg_catalog.round(mean_exec_time::pg_catalog.numeric, 2) as mean_ms, rows,
      pg_catalog.left(query, 300) as query from pg_stat_statements order by total_exec_time desc limit 20`,
}

type Made = { description: string; more?: Record<string, Record<string, unknown>>; required?: string[] }

function sqlTool(
  name: string,
  { description, more = {}, required = [] }: Made,
  statementOf: (args: Args) => Statement,
): Tool {
  return {
    name,
    description,
    inputSchema: inputOf({ project_id, service_id, database, ...more }, ['service_id', ...required]),
    annotations: { ...annotationsOf('read'), openWorldHint: true },
    run: async (world, args) => {
      const at = await placeOf(world, args)
      const chosen = typeof args['database'] === 'string' ? { database: args['database'] } : {}
      return answerOf(await world.client.runQuery({ ...at, body: { ...statementOf(args), ...chosen } }))
    },
  }
}

export const sql_tools: readonly Tool[] = [
  sqlTool('list_tables', { description: 'Tables and views with their sizes.' }, () => listTables),
  sqlTool(
    'describe_schema',
    {
      description: 'Columns, types and comments of all tables, or of one.',
      more: { table: { type: 'string' } },
    },
    ({ table }) => ({ ...describeSchema, parameters: [typeof table === 'string' ? table : null] }),
  ),
  sqlTool(
    'explain',
    {
      description: 'The plan of a statement; with analyze it is run, in a transaction that only reads.',
      more: { query: { type: 'string' }, analyze: { type: 'boolean' } },
      required: ['query'],
    },
    (args) => ({ query: `explain ${args['analyze'] === true ? '(analyze, buffers) ' : ''}${textOf(args, 'query')}` }),
  ),
  sqlTool(
    'top_statements',
    {
      description: 'By total time, from pg_stat_statements, which must be created in the database.',
    },
    () => topStatements,
  ),
]
