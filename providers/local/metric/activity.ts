// What PostgreSQL counts about itself: connections, transactions, blocks found in memory or read. One short session over the
// unix socket a poll; a session held open would cost every idle service a process.
import type { Node } from '../host/layout.ts'
import { withSuperuser } from '../postgres/superuser.ts'

/** The last three only rise, until the server's statistics are reset. */
export type Activity = {
  connections: number
  transactions: number
  blocks_hit: number
  blocks_read: number
}

const statement_timeout_ms = 2_000

export async function activityOf(node: Node): Promise<Activity | undefined> {
  return await withSuperuser(node, { statement_timeout_ms }, async (client) => {
    const { rows } = await client.query<Record<keyof Activity, unknown>>(
      `select (select count(*) from pg_catalog.pg_stat_activity
               where backend_type = 'client backend' and usename <> 'postgres') as connections,
              sum(xact_commit + xact_rollback) as transactions, sum(blks_hit) as blocks_hit, sum(blks_read) as blocks_read
       from pg_catalog.pg_stat_database`,
    )
    return rows[0] && countsOf(rows[0])
  })
}

/**
 * Pure. Undefined unless all of them are counts: a program of the service's user that answers in the place of the server may say anything,
 * and a value that no column holds would keep the values of all services out of the store.
 */
export function countsOf(row: Record<keyof Activity, unknown>): Activity | undefined {
  const counts = {
    connections: Number(row.connections),
    transactions: Number(row.transactions),
    blocks_hit: Number(row.blocks_hit),
    blocks_read: Number(row.blocks_read),
  }
  return Object.values(counts).every((count) => Number.isSafeInteger(count) && count >= 0) ? counts : undefined
}
