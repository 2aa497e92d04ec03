// The log of a service: PostgreSQL's own entries, newest first. Two modes: by cursor, and by page number for old clients.
import type { Static } from 'typebox'
import { endpoint } from './endpoint.ts'
import { choice, flag, input, integer, moment, momentInput, text } from './schema.ts'
import { Type } from './type.ts'

/** As PostgreSQL writes them, from the least to the most severe. */
export const log_severities = ['DEBUG', 'INFO', 'NOTICE', 'WARNING', 'LOG', 'ERROR', 'FATAL', 'PANIC'] as const
export type LogSeverity = (typeof log_severities)[number]

export const log_page_entries_max = 500
/** How far page numbers reach; cursors have no such limit. */
export const log_window_entries_max = 10_000
const log_buckets_max = 200
export const log_buckets_default = 60
/** A histogram counts no more of them. */
export const log_counted_max = 200_000

export const LogEntry = Type.Object(
  {
    message: text(
      'With detail, hint, context and statement below it where PostgreSQL gave them. Passwords are masked.',
      'relation "orders" does not exist',
    ),
    severity: choice(log_severities, 'As PostgreSQL writes it.', 'ERROR'),
    timestamp: moment('When PostgreSQL wrote it.'),
    id: Type.Optional(text('Send it as `after` for the entries that were written after it. Opaque.', 'MDo5OTE4Nw')),
    node: Type.Optional(integer('Which node wrote it.', 0)),
    process_id: Type.Optional(integer('Of the process that wrote it.', 4711)),
    user: Type.Optional(text('Who was logged in.', 'tsdbadmin')),
    database: Type.Optional(text('To which database.', 'tsdb')),
    application: Type.Optional(text('What the client called itself.', 'web')),
    state_code: Type.Optional(text('SQLSTATE, where it is an error.', '42P01')),
  },
  { $id: 'LogEntry', description: 'An entry of the log of PostgreSQL.' },
)

export type LogEntry = Static<typeof LogEntry>

const Cursor = text('There when older entries follow: send it as `cursor` for the next page. Opaque.', 'MDo5OTE4Nw')

export const ServiceLogs = Type.Object(
  {
    logs: Type.Array(Type.String(), {
      description: 'The messages alone, for old clients.',
      deprecated: true,
      examples: [['relation "orders" does not exist']],
    }),
    entries: Type.Optional(Type.Array(LogEntry, { description: 'In cursor mode, in the order of `logs`.' })),
    lastCursor: Type.Optional({ ...Cursor, deprecated: true }),
    last_cursor: Type.Optional({
      ...Cursor,
      description:
        'There when older entries follow: send it as `cursor` for the next page. Of a request with `after`: what to send as `after` next. Opaque.',
    }),
  },
  { $id: 'ServiceLogs', description: 'A page of the log, newest first; with `after` oldest first.' },
)

/** Which entries. */
const filters = {
  node: Type.Optional(
    integer(
      'Which node, from 0: of a service with replicas, by default its primary; of a replica set, by default the first.',
      0,
      {
        minimum: 0,
        maximum: 1_000,
      },
    ),
  ),
  search: Type.Optional(
    Type.Array(Type.String({ maxLength: 1_000 }), {
      maxItems: 10,
      description: 'Texts that all occur in the message, in any case. Repeat it for several.',
      examples: [['does not exist']],
    }),
  ),
  severities: Type.Optional(
    Type.Array(Type.String({ maxLength: 16 }), {
      maxItems: 16,
      description: `Keep these only: ${log_severities.join(', ')}, in any case. Repeat it for several.`,
      examples: [['ERROR', 'FATAL']],
    }),
  ),
  process_id: Type.Optional(
    integer('Entries of this process only, which is one connection.', 4711, { minimum: 1, maximum: 2_147_483_647 }),
  ),
}

const LogQuery = input(
  {
    cursor: Type.Optional(
      text('`lastCursor` of an earlier answer; takes precedence over `page`.', 'MDo5OTE4Nw', { maxLength: 512 }),
    ),
    after: Type.Optional(
      text('`id` of an entry: those that were written after it, the oldest first.', 'MDo5OTE4Nw', { maxLength: 512 }),
    ),
    page: Type.Optional(
      integer(
        `Deprecated above 0: pages of ${log_page_entries_max} within the newest ${log_window_entries_max} entries.`,
        0,
        { minimum: 0, maximum: 1_000_000, default: 0, deprecated: true },
      ),
    ),
    ...filters,
    since: Type.Optional(momentInput('Entries after this time only.', '2026-11-15T11:00:00Z')),
    until: Type.Optional(momentInput('Entries before this time only.')),
  },
  { search: ['does not exist'], severities: ['ERROR', 'FATAL'], since: '2026-11-15T11:00:00Z' },
)

const HistogramQuery = input(
  {
    ...filters,
    since: Type.Optional(
      momentInput('Where the first part begins; by default an hour before `until`.', '2026-11-15T11:00:00Z'),
    ),
    until: Type.Optional(momentInput('Where the last part ends; by default now.')),
    buckets: Type.Optional(
      integer('Into how many parts of equal length the time is divided; by default 60.', 60, {
        minimum: 1,
        maximum: log_buckets_max,
        default: log_buckets_default,
      }),
    ),
  },
  { search: ['does not exist'], since: '2026-11-15T11:00:00Z', until: '2026-11-15T12:00:00Z', buckets: 60 },
)

const LogBucket = Type.Object(
  {
    time: moment('When it begins.'),
    counts: Type.Unsafe<Partial<Record<LogSeverity, number>>>({
      type: 'object',
      additionalProperties: { type: 'integer', minimum: 1 },
      description: 'How many entries it has, by severity; those that have none are left out.',
      examples: [{ LOG: 210, ERROR: 3 }],
    }),
  },
  { $id: 'LogBucket', description: 'A stretch of time, and how many entries it has.' },
)

export const LogHistogram = Type.Object(
  {
    buckets: Type.Array(LogBucket, { description: 'The oldest first; the next one begins where one ends.' }),
    partial: flag(
      `True: only the newest ${log_counted_max} entries are counted; choose a shorter time, or filter.`,
      false,
    ),
  },
  { $id: 'LogHistogram', description: 'How much was logged when.' },
)
export type LogHistogram = Static<typeof LogHistogram>

const service = '/projects/{project_id}/services/{service_id}'
const description = `The newest ${log_page_entries_max} entries at most; follow \`lastCursor\` for older ones. With a \`page\` above 0 and no cursor the answer has \`logs\` only, and of the filters \`until\` and \`node\` apply. With \`after\` the log is read forwards, as a stream does: both go over to the next primary by themselves, and take \`node\`, \`search\`, \`severities\`, \`process_id\` and \`since\` only.`
const answer = { query: LogQuery, streams: true, waits: 'entries', success: 200, output: ServiceLogs } as const

export const log_endpoints = {
  getServiceLogs: endpoint({
    method: 'GET',
    path: `${service}/logs`,
    summary: 'Read the log of a service',
    description,
    tag: 'Logs and metrics',
    access: 'viewer',
    ...answer,
  }),
  getLogHistogram: endpoint({
    method: 'GET',
    path: `${service}/logs/histogram`,
    summary: 'Count the entries of the log of a service over time',
    description: 'Of the entries that the same filters of `logs` keep. For a picture of when something began.',
    tag: 'Logs and metrics',
    access: 'viewer',
    query: HistogramQuery,
    success: 200,
    output: LogHistogram,
  }),
  getReplicaSetLogs: endpoint({
    method: 'GET',
    path: `${service}/replicaSets/{replica_set_id}/logs`,
    summary: 'Read the log of a read replica set',
    description: `Of its first node, unless \`node\` names another. ${description}`,
    tag: 'Logs and metrics',
    access: 'viewer',
    ...answer,
  }),
}
