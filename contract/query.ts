// One statement in a database of a service, through the API: for a console, a command or an agent that has no password of it.
import type { Static } from 'typebox'
import { endpoint } from './endpoint.ts'
import { choice, flag, input, integer, text } from './schema.ts'
import { plain_text_pattern } from './problem.ts'
import { accepted_statuses } from './service-status.ts'
import { Type } from './type.ts'

export const query_modes = ['read', 'write'] as const
export const query_defaults = { database: 'tsdb', mode: 'read', row_limit: 1000, timeout_seconds: 15 } as const

/** A value as PostgreSQL reads and writes text. */
const Value = Type.Unsafe<string | null>({ type: ['string', 'null'] })

export const QueryResult = Type.Object(
  {
    columns: Type.Array(
      Type.Object(
        { name: text('Its name.', 'count'), type: text('Its type, as PostgreSQL calls it.', 'bigint') },
        { description: 'A column of the rows.' },
      ),
      { description: 'In the order of the values of a row.' },
    ),
    rows: Type.Array(Type.Array(Value), {
      description: 'The values of each row as PostgreSQL writes them: text, or null.',
      examples: [[['42']]],
    }),
    row_count: integer('How many rows the statement returned or changed, as far as it went.', 1),
    truncated: flag('Whether there is more than `row_limit`, or 1 MB, lets through.', false),
    took_ms: integer('How long the statement took.', 3),
    notices: Type.Array(Type.String(), {
      description: 'What PostgreSQL noted meanwhile.',
      examples: [['NOTICE: table "t" does not exist, skipping']],
    }),
    command: text('PostgreSQL’s word for the kind of the statement.', 'SELECT'),
  },
  { $id: 'QueryResult', description: 'What a statement gave.' },
)
export type QueryResult = Static<typeof QueryResult>

const QueryInput = input(
  {
    query: text('One statement.', 'select count(*) from pg_tables where schemaname = $1', {
      minLength: 1,
      maxLength: 50_000,
      // A NUL would end it in the protocol.
      pattern: '^[^\\u0000]*$',
    }),
    parameters: Type.Optional(
      Type.Array(
        Type.Unsafe<string | null>({ type: ['string', 'null'], maxLength: 50_000, pattern: '^[^\\u0000]*$' }),
        {
          maxItems: 100,
          description: 'For $1, $2 …: texts that PostgreSQL reads as the types that the statement needs, or null.',
          examples: [['public']],
        },
      ),
    ),
    database: Type.Optional(
      text('In which database.', 'tsdb', {
        minLength: 1,
        maxLength: 63,
        pattern: plain_text_pattern,
        default: query_defaults.database,
      }),
    ),
    mode: Type.Optional({
      ...choice(
        query_modes,
        'read: in a transaction that only reads, and is rolled back. write: in a transaction that is committed.',
        'read',
      ),
      default: query_defaults.mode,
    }),
    row_limit: Type.Optional(
      integer('How many rows the answer has at most.', 100, {
        minimum: 1,
        maximum: 1000,
        default: query_defaults.row_limit,
      }),
    ),
    timeout_seconds: Type.Optional(
      integer('After so long the statement is ended.', 15, {
        minimum: 1,
        maximum: 60,
        default: query_defaults.timeout_seconds,
      }),
    ),
  },
  { query: 'select count(*) from pg_tables where schemaname = $1', parameters: ['public'] },
)

export const query_endpoints = {
  runQuery: endpoint({
    method: 'POST',
    path: '/projects/{project_id}/services/{service_id}/query',
    summary: 'Run one SQL statement in a service',
    description:
      'As a role that is made for it, has the rights of `tsdbadmin` and is dropped after it; in a transaction that only reads unless `mode` is `write`. The statement stands in the log of the service. An error of PostgreSQL is a 400 with its words. An operator can switch this off.',
    tag: 'Services',
    access: 'developer',
    accepts: accepted_statuses.query,
    body: QueryInput,
    success: 200,
    output: QueryResult,
  }),
}
