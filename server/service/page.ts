// A page of the services of a project. A cursor is the place of the last service that was shown, so that a page begins where the one
// before ended, also when that service is removed meanwhile.
import { invalidRequest, type Problem } from '#contract/problem.ts'
import type { ListServicesQuery } from '#contract/service-input.ts'
import type { Sql } from '../store/db.ts'
import { listServices, type Place, type ServiceRow } from './store.ts'

type ServicePage = { rows: ServiceRow[]; next_cursor: string | undefined }

export async function pageOfServices(db: Sql, project_id: string, query: ListServicesQuery): Promise<ServicePage> {
  const { limit, cursor, ...chosen } = query
  const problems = cursorProblems(cursor)
  if (problems.length > 0) throw invalidRequest(problems)
  // One more than the limit tells whether there is a next page.
  const wanted = { ...chosen, after: placeOf(cursor), limit: limit && limit + 1 }
  const found = await listServices(db, project_id, wanted)
  const rows = found.slice(0, limit)
  const last = rows.at(-1)
  return { rows, next_cursor: last && found.length > rows.length ? newCursor(last) : undefined }
}

export function cursorProblems(cursor: string | undefined): Problem[] {
  if (cursor === undefined || placeOf(cursor) !== undefined) return []
  return [{ path: 'query/cursor', message: 'must be the X-Next-Cursor of an earlier answer' }]
}

function newCursor({ created_us, service_id }: Place): string {
  return Buffer.from(`${created_us} ${service_id}`).toString('base64url')
}

function placeOf(cursor = ''): Place | undefined {
  const [, created_us, service_id] =
    /^(\d{1,18}) ([a-z0-9]{10})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? []
  return service_id === undefined ? undefined : { created_us: Number(created_us), service_id }
}
