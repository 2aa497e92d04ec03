// What a primary knows of those who follow it: the slots that keep their WAL, and how far each of them is. Asked over one short
// session; what is missing is made.
import type pg from 'pg'
import type { Effect } from '../host/effect.ts'
import { standby_role } from '../../postgres/names.ts'

/** `flushed`: up to where it has the WAL on its disk, as bytes from the beginning of all WAL. */
export type Sender = { name: string; state: string; flushed: bigint }

/** From now on the WAL is kept for it. A slot that fell behind its budget is of no use any more and is made anew. */
export async function ensureSlot(effect: Effect, client: pg.Client, slot: string): Promise<void> {
  const { rows } = await client.query<{ lost: boolean; active: boolean }>(
    `select coalesce(wal_status = 'lost', false) as lost, active from pg_catalog.pg_replication_slots where slot_name = $1`,
    [slot],
  )
  if (rows[0] && !rows[0].lost) return
  if (rows[0]?.active) return
  if (rows[0]) await removeSlot(effect, client, slot)
  await effect('replication slot: make')
  await client.query('select pg_catalog.pg_create_physical_replication_slot($1, true)', [slot])
}

export async function ensureSlotRemoved(effect: Effect, client: pg.Client, slot: string): Promise<void> {
  const { rowCount } = await client.query('select from pg_catalog.pg_replication_slots where slot_name = $1', [slot])
  if (rowCount) await removeSlot(effect, client, slot)
}

async function removeSlot(effect: Effect, client: pg.Client, slot: string): Promise<void> {
  await effect('replication slot: remove')
  // Its walsender may not have noticed yet that nobody is there any more.
  await client.query(
    'select pg_catalog.pg_terminate_backend(active_pid, 1000) from pg_catalog.pg_replication_slots where slot_name = $1',
    [slot],
  )
  await client.query('select pg_catalog.pg_drop_replication_slot($1)', [slot])
}

export async function listSenders(client: pg.Client): Promise<Sender[]> {
  const { rows } = await client.query<{ name: string; state: string; flushed: string }>(
    `select application_name as name, state, coalesce(flush_lsn, '0/0') - '0/0' as flushed
     from pg_catalog.pg_stat_replication where usename = $1`,
    [standby_role],
  )
  return rows.map(({ name, state, flushed }) => ({ name, state, flushed: BigInt(flushed) }))
}
