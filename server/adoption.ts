// At start there is a pass over every service and every replica set of the server's regions, so that a server adopts what runs
// and mends what changed while no server ran.
import { despiteDeadlocks, type Sql } from './store/db.ts'
import { sql } from './store/sql.ts'

/** One statement for all, because there may be very many; in the order in which all transactions take these rows. */
export async function nudgeEverything(db: Sql, regions: readonly string[]): Promise<void> {
  // Passes that end meanwhile, also at other servers, nudge and lock rows in an order of their own.
  await despiteDeadlocks(() =>
    db.query(sql`
    insert into work (kind, key, region_code)
    select 'replica set', replica_set_id, region_code from replica_sets where region_code = any (${regions})
    union all select 'service', service_id, region_code from services where region_code = any (${regions})
    order by 1, 2
    on conflict (kind, key) do update set nudges = work.nudges + 1, due_at = now(), attempts = 0`),
  )
  await db.query(sql`select pg_notify('work', 'service')`)
}
