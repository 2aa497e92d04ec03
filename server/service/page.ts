// A page of the services of a project. A cursor is the place of the last service that was shown, so that a page begins where the one
// before ended, also when that service is removed meanwhile.
import { checked, type Problem } from '#contract/problem.ts'
import type { ListServicesQuery } from '#contract/service-input.ts'
import type { Sql } from '../store/db.ts'
import { listServices, type Place, type ServiceRow } from './store.ts'

type ServicePage = { rows: ServiceRow[]; next_cursor: string | undefined }

export async function pageOfServices(db: Sql, project_id: string, query: ListServicesQuery): Promise<ServicePage> {
  const { limit, cursor, ...chosen } = query
  const after = checked((problems) => parseCursor(cursor, problems))
  // One more than the limit tells whether there is a next page.
  const wanted = { ...chosen, after, limit: limit && limit + 1 }
  const found = await listServices(db, project_id, wanted)
  const rows = found.slice(0, limit)
  const last = rows.at(-1)
  return { rows, next_cursor: last && found.length > rows.length ? newCursor(last) : undefined }
}

export function parseCursor(cursor: string | undefined, problems: Problem[]): Place | undefined {
  if (cursor === undefined) return undefined
  const form = /^(\d{1,18}) ([a-z0-9]{10})$/
  const [, created_us, service_id] = form.exec(Buffer.from(cursor, 'base64url').toString('latin1')) ?? []
  if (service_id !== undefined) return { created_us: Number(created_us), service_id }
  problems.push({ path: 'query/cursor', message: 'must be the X-Next-Cursor of an earlier answer' })
  return undefined
}

function newCursor({ created_us, service_id }: Place): string {
  return Buffer.from(`${created_us} ${service_id}`).toString('base64url')
}
