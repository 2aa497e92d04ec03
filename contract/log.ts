// The log of a service: PostgreSQL's own entries, newest first. Two modes: by cursor, and by page number for old clients.
import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Timestamp } from './schema.ts'

/** As PostgreSQL writes them, from the least to the most severe. */
export const log_severities = ['DEBUG', 'INFO', 'NOTICE', 'WARNING', 'LOG', 'ERROR', 'FATAL', 'PANIC'] as const
export type LogSeverity = (typeof log_severities)[number]

export const log_page_entries_max = 500
/** How far page numbers reach; cursors have no such limit. */
export const log_window_entries_max = 10_000

export const LogEntry = Type.Object(
  {
    message: Type.String({
      description:
        'With detail, hint, context and statement below it where PostgreSQL gave them. Passwords are masked.',
    }),
    severity: Type.String({ description: log_severities.join(', ') }),
    timestamp: Timestamp,
  },
  { $id: 'LogEntry' },
)

const Cursor = Type.String({
  description: 'There when older entries follow: send it as `cursor` for the next page. Opaque.',
})

export const ServiceLogs = Type.Object(
  {
    logs: Type.Array(Type.String(), { description: 'The messages alone, for old clients.' }),
    entries: Type.Optional(Type.Array(LogEntry, { description: 'In cursor mode, in the order of `logs`.' })),
    lastCursor: Type.Optional(Cursor),
    last_cursor: Type.Optional(Cursor),
  },
  { $id: 'ServiceLogs' },
)

const LogQuery = Type.Object({
  cursor: Type.Optional(
    Type.String({ maxLength: 512, description: '`lastCursor` of an earlier answer; takes precedence over `page`.' }),
  ),
  page: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 1_000_000,
      description: `Deprecated above 0: pages of ${log_page_entries_max} within the newest ${log_window_entries_max} entries.`,
    }),
  ),
  node: Type.Optional(
    Type.Integer({
      minimum: 0,
      maximum: 1_000,
      description: 'Which node of a service with replicas, from 0; by default the primary.',
    }),
  ),
  search: Type.Optional(
    Type.Array(Type.String({ maxLength: 1_000 }), {
      maxItems: 10,
      description: 'Texts that must all occur in the message, in whatever case. Repeat it for several.',
    }),
  ),
  severities: Type.Optional(
    Type.Array(Type.String({ maxLength: 16 }), {
      maxItems: 16,
      description: `Keep these only: ${log_severities.join(', ')}, in whatever case. Repeat it for several.`,
    }),
  ),
  since: Type.Optional(
    Type.String({ format: 'date-time', maxLength: 64, description: 'Entries after this time only, RFC 3339.' }),
  ),
  until: Type.Optional(
    Type.String({ format: 'date-time', maxLength: 64, description: 'Entries before this time only, RFC 3339.' }),
  ),
})

export const log_endpoints = {
  getServiceLogs: endpoint({
    method: 'GET',
    path: '/projects/{project_id}/services/{service_id}/logs',
    summary: 'Read the log of a service',
    description: `The newest ${log_page_entries_max} entries at most; follow \`lastCursor\` for older ones. With a \`page\` above 0 and no cursor the answer has \`logs\` only, and of the filters \`until\` and \`node\` apply.`,
    tag: 'Logs and metrics',
    access: 'viewer',
    query: LogQuery,
    success: 200,
    output: ServiceLogs,
  }),
}
