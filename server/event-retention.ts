// How long events are kept, so that the metadata store does not grow for ever. Once an hour each server removes a bounded number of them,
// the oldest first; of several servers each passes over the rows of the others.
import type { Log } from './log.ts'
import { type Patrol, startPatrol } from './patrol.ts'
import type { Db } from './store/db.ts'
import { sql } from './store/sql.ts'

/** Those of services, and of those that are removed for good: as long as the repository of the backups can bring one back. */
export const event_days_max = { of_services: 365, of_removed: 35 }
/** About a megabyte, and half a day of a service that fails every ten seconds. A service at rest has some hundred a year. */
export const events_per_service_max = 5_000
const every_ms = 3_600_000
const rows_per_statement = 5_000
const statements_max = 20

export const startEventRetention = ({ db, log }: { db: Db; log: Log }): Promise<Patrol> =>
  startPatrol(() => removeOldEvents(db), log, every_ms)

export async function removeOldEvents(db: Db): Promise<void> {
  let left = statements_max
  const repeat = async (remove: () => Promise<number>) => {
    while (left > 0 && (await remove()) === rows_per_statement) left -= 1
  }
  await repeat(() => removeOutdated(db))
  for (const { service_id } of await listTalkative(db)) await repeat(() => removeSurplus(db, service_id))
}

async function removeOutdated(db: Db): Promise<number> {
  const { of_services, of_removed } = event_days_max
  const rows = await db.query(sql`
    delete from service_events where id in (
      select id from service_events e
      where time < now() - make_interval(days => ${of_removed})
        and (time < now() - make_interval(days => ${of_services})
          or not exists (select from services s where s.service_id = e.service_id))
      order by time limit ${rows_per_statement} for update skip locked)
    returning id`)
  return rows.length
}

async function listTalkative(db: Db): Promise<{ service_id: string }[]> {
  return db.query(sql<{ service_id: string }>`
    select service_id from service_events group by service_id having count(*) > ${events_per_service_max}`)
}

async function removeSurplus(db: Db, service_id: string): Promise<number> {
  const rows = await db.query(sql`
    delete from service_events where id in (
      select id from service_events
      where service_id = ${service_id} and id <= (
        select id from service_events where service_id = ${service_id}
        order by id desc offset ${events_per_service_max} limit 1)
      order by id limit ${rows_per_statement} for update skip locked)
    returning id`)
  return rows.length
}
