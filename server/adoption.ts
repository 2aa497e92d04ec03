// At start there is a pass over every service and every replica set of the server's regions, so that a server adopts what runs
// and mends what changed while no server ran.
import { despiteDeadlocks, type Sql } from './store/db.ts'

/** One statement for all, because there may be very many; in the order in which all transactions take these rows. */
export async function nudgeEverything(sql: Sql, regions: readonly string[]): Promise<void> {
  // Passes that end meanwhile, also of other servers, nudge and lock rows in an order of their own.
  await despiteDeadlocks(() =>
    sql.query(
      `insert into work (kind, key, region_code)
       select 'replica set', replica_set_id, region_code from replica_sets where region_code = any ($1)
       union all select 'service', service_id, region_code from services where region_code = any ($1)
       order by 1, 2
       on conflict (kind, key) do update set nudges = work.nudges + 1, due_at = now(), attempts = 0`,
      [regions],
    ),
  )
  await sql.query(`select pg_notify('work', 'service')`)
}
