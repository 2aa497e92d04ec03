// The append-only events of services, for people. They decide nothing, and outlive their service by a while (event-retention.ts), so that
// its owners can still read why it was removed.
// In a project their ids grow in the order in which they can be read: a transaction that adds one has the project's turn until it ends.
// So all after an id are all that came after it, and a reader who goes on from there misses none.
import type { ServiceEventKind } from '#contract/event.ts'
import type { Sql } from './store/db.ts'
import { fragment, sql } from './store/sql.ts'

/** The contract's kinds. A provider, which does not know the contract, tells them as text; a test reads them all. */
export type EventKind = ServiceEventKind | (string & {})

const text_chars_max = 4_000

/**
 * As people are told it. A provider's words may repeat those of a tenant, which are as long as the tenant likes; and a character that the
 * store does not take would fail every pass.
 */
export function tellable(text: string): string {
  const told = text.length > text_chars_max ? `${text.slice(0, text_chars_max)}…` : text
  return told.toWellFormed().replaceAll(/[^\P{Cc}\n\t]/gu, '\ufffd')
}

/** Of a service that has its row. Late in the transaction: others of the project wait for its end. */
export async function insertEvent(tx: Sql, service_id: string, kind: EventKind, message: string): Promise<void> {
  await tx.query(
    sql`
      with turn as materialized (
        select project_id, pg_advisory_xact_lock(hashtextextended('events of project ' || project_id, 0))
        from services where service_id = ${service_id}),
      inserted as (
        insert into service_events (project_id, service_id, kind, message)
        select project_id, ${service_id}, ${kind}, ${tellable(message)} from turn returning project_id)
      select pg_notify('settled', project_id) from inserted`,
    'insert event',
  )
}

export type EventRow = { id: number; time: Date; service_id: string; kind: ServiceEventKind; message: string }

export type EventsWanted = {
  project_id: string
  /** Absent: of all services. */
  service_id?: string | undefined
  /** Empty: all. */
  kinds: readonly ServiceEventKind[]
  /** Those after it, oldest first; absent: the newest, newest first. */
  after?: number | undefined
  /** Those before it only. */
  before?: number | undefined
  limit: number
}

/** Compared with the id of the service, or with no id. */
const scopes = { service: fragment`service_id =`, project: fragment`'' =` }
const orders = { newest_first: fragment`id desc`, oldest_first: fragment`id` }

export async function listEvents(db: Sql, wanted: EventsWanted): Promise<EventRow[]> {
  const { project_id, service_id, kinds, after, before, limit } = wanted
  const scope = service_id === undefined ? 'project' : 'service'
  const order = after === undefined ? 'newest_first' : 'oldest_first'
  return db.query(sql<EventRow>`
    select id, time, service_id, kind, message from service_events
    where project_id = ${project_id} and ${scopes[scope]} ${service_id ?? ''}
      and id > ${after ?? 0} and id < ${before ?? Number.MAX_SAFE_INTEGER} and (${kinds.length === 0} or kind = any (${kinds}))
    order by ${orders[order]} limit ${limit}`)
}
