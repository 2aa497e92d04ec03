// What a primary knows of its standbys: the slots that keep their WAL, and how far each of them is. Asked over one short
// session; a missing slot is made.
import type pg from 'pg'
import type { Effect } from '../host/effect.ts'
import { standby_role } from '../../postgres/names.ts'

/** `sent` and `flushed`: up to where it was sent the WAL, and has it on its disk, as bytes from the beginning of all WAL. */
export type Sender = { name: string; state: string; sent: bigint; flushed: bigint }

/** From now on the WAL is kept for the standby. A slot whose WAL exceeded its budget is lost and made anew. */
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
  // Its walsender may not have noticed yet that the standby has disconnected.
  await client.query(
    'select pg_catalog.pg_terminate_backend(active_pid, 1000) from pg_catalog.pg_replication_slots where slot_name = $1',
    [slot],
  )
  await client.query('select pg_catalog.pg_drop_replication_slot($1)', [slot])
}

export async function listSenders(client: pg.Client): Promise<Sender[]> {
  const { rows } = await client.query<{ name: string; state: string; sent: string; flushed: string }>(
    `select application_name as name, state, coalesce(sent_lsn, '0/0') - '0/0' as sent, coalesce(flush_lsn, '0/0') - '0/0' as flushed
     from pg_catalog.pg_stat_replication where usename = $1`,
    [standby_role],
  )
  return rows.map(({ name, state, sent, flushed }) => ({ name, state, sent: BigInt(sent), flushed: BigInt(flushed) }))
}
