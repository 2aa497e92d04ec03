// Reading the audit log, newest first, page by page. A cursor is the place of the last entry that was shown.
import type { AuditEntry, audit_endpoints } from '#contract/audit.ts'
import { audit_entries_default, operator_email } from '#contract/audit.ts'
import type { QueryOf } from '#contract/endpoint.ts'
import { invalidRequest, type Problem } from '#contract/problem.ts'
import type { Db } from '../store/db.ts'
import type { Handlers } from '../http/handler.ts'
import { parseMoment } from '../moment.ts'
import { type AuditFilter, type AuditRow, listAudit } from './store.ts'

export function auditHandlers({ db }: { db: Db }): Pick<Handlers, keyof typeof audit_endpoints> {
  return {
    listAudit: async ({ params, query }) => {
      const limit = query.limit ?? audit_entries_default
      const problems = auditProblems(query)
      if (problems.length > 0) throw invalidRequest(problems)
      // One more than the limit tells whether there is a next page.
      const rows = await listAudit(db, params.project_id, filterOf(query), limit + 1)
      const shown = rows.slice(0, limit)
      const last = shown.at(-1)
      return {
        entries: shown.map(entryView),
        ...(rows.length > limit && last !== undefined && { last_cursor: newCursor(last.id) }),
      }
    },
  }
}

type Query = QueryOf<typeof audit_endpoints.listAudit>

function filterOf(query: Query): AuditFilter {
  const { cursor, user_id, endpoint = null, resource_id = null, outcome, since, until } = query
  return {
    before: placeOf(cursor) ?? null,
    user_id: user_id === undefined || user_id === operator_email ? null : Number(user_id),
    is_operator: user_id === operator_email,
    endpoint,
    resource_id,
    is_done: outcome === undefined ? null : outcome === 'done',
    since: dateOf(since),
    until: dateOf(until),
  }
}

const dateOf = (text?: string) => (text === undefined ? null : new Date(parseMoment(text)))

function entryView(row: AuditRow): AuditEntry {
  return {
    id: String(row.id),
    time: row.time.toISOString(),
    ...(row.user_id !== null && { user_id: String(row.user_id) }),
    email: row.email,
    ...(row.public_key !== null && { public_key: row.public_key }),
    ...(row.client !== null && { client: row.client }),
    address: row.address,
    endpoint: row.endpoint,
    method: row.method,
    path: row.path,
    ...(row.resource_id !== null && { resource_id: row.resource_id }),
    status: row.status,
    ...(row.code !== null && { code: row.code }),
    request_id: row.request_id,
  }
}

function newCursor(id: number): string {
  return Buffer.from(`before:${id}`).toString('base64url')
}

/** What is wrong with the members that are there, beyond their schema. */
export function auditProblems({ cursor }: Pick<Query, 'cursor'>): Problem[] {
  if (cursor === undefined || placeOf(cursor) !== undefined) return []
  return [{ path: 'query/cursor', message: 'must be a last_cursor of an earlier answer' }]
}

function placeOf(cursor = ''): number | undefined {
  const id = /^before:(\d{1,15})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'))?.[1]
  return id === undefined ? undefined : Number(id)
}
