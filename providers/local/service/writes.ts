// Where too little space is left, a service refuses writes: whoever begins a transaction finds it read-only, by a setting, and
// who was writing already is interrupted. A transaction that asks to write by itself, to make room, is let.
import { writeFile } from 'node:fs/promises'
import { ensureFile, readIfThere, type Effect } from '../effect.ts'
import type { Place } from '../layout.ts'
import type { LocalHost } from '../local-host.ts'
import { withSuperuser } from '../postgres/superuser.ts'

/** As PostgreSQL reads it. */
export async function ensureWritesSetting({ effect, room_watch }: LocalHost, place: Place): Promise<void> {
  const text = `default_transaction_read_only = ${room_watch.lowSince() ? 'on ' : 'off'}\n`
  const before = await readIfThere(place.writes)
  if (before?.length !== text.length) return await ensureFile(effect, 'writes', place.writes, text, place.owner)
  if (before === text) return
  // In place, with as many bytes: a disk without space has none for a second file either.
  await effect('writes: change')
  await writeFile(place.writes, text, { flag: 'r+' })
}

/** One statement can fill a disk. */
export async function ensureWritersStopped(effect: Effect, place: Place, low_since: Date): Promise<void> {
  await effect('writers: interrupt')
  await withSuperuser(place, {}, (client) =>
    client.query(
      `select count(pg_cancel_backend(pid)) from pg_stat_activity
       where backend_type = 'client backend' and usename <> 'postgres' and state = 'active'
         and backend_xid is not null and xact_start < $1`,
      [low_since],
    ),
  )
}
