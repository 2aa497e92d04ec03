// The append-only events of a service, for people. It decides nothing. Events outlive their service by a while, so that
// its owners can still read why it was removed.
import type { ServiceEventKind } from '#contract/service-event.ts'
import type { Sql } from './store/db.ts'
import { sql } from './store/sql.ts'

const events_shown_max = 500

/** The contract's kinds. A provider, which does not know the contract, tells them as text; a test reads them all. */
export type EventKind = ServiceEventKind | (string & {})

export async function insertEvent(tx: Sql, service_id: string, kind: EventKind, message: string): Promise<void> {
  await tx.query(
    sql`insert into service_events (service_id, kind, message) values (${service_id}, ${kind}, ${message})`,
    'insert event',
  )
}

export async function listEvents(db: Sql, service_id: string) {
  return db.query(sql<{ time: Date; kind: ServiceEventKind; message: string }>`
    select time, kind, message from service_events where service_id = ${service_id}
    order by id desc limit ${events_shown_max}`)
}
