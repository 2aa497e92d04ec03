// What PostgreSQL counts about itself: connections, transactions, blocks found in memory or read, and how far its standbys
// are behind. One short session over the unix socket a look; a session held open would cost every idle service a process.
import type { Place } from '../layout.ts'
import { standby_role } from '../postgres/settings.ts'
import { withSuperuser } from '../postgres/superuser.ts'

/** The last three only rise, until the server's statistics are reset. */
export type Activity = {
  connections: number
  /** Of the standby that is furthest behind; undefined when none is there. */
  lag_bytes: number | undefined
  transactions: number
  blocks_hit: number
  blocks_read: number
}

const statement_timeout_ms = 2_000

export async function activityOf(place: Place): Promise<Activity | undefined> {
  return await withSuperuser(place, { statement_timeout_ms }, async (client) => {
    const { rows } = await client.query<Record<keyof Activity, string | null>>(
      `select (select count(*) from pg_stat_activity
               where backend_type = 'client backend' and pid <> pg_backend_pid()) as connections,
              (select max(pg_wal_lsn_diff(case when pg_is_in_recovery() then null else pg_current_wal_lsn() end, replay_lsn))
               from pg_stat_replication where usename = $1) as lag_bytes,
              sum(xact_commit + xact_rollback) as transactions, sum(blks_hit) as blocks_hit, sum(blks_read) as blocks_read
       from pg_stat_database`,
      [standby_role],
    )
    const [row] = rows
    if (row === undefined) return undefined
    const { connections, lag_bytes, transactions, blocks_hit, blocks_read } = row
    return {
      connections: Number(connections),
      lag_bytes: lag_bytes === null ? undefined : Number(lag_bytes),
      transactions: Number(transactions),
      blocks_hit: Number(blocks_hit),
      blocks_read: Number(blocks_read),
    }
  })
}
