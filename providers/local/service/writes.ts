// Where too little space is left, a service refuses writes: whoever begins a transaction finds it read-only, by a setting, and
// who was writing already is interrupted. A transaction that asks to write by itself, to make room, is let.
import type { Place } from '../layout.ts'
import type { LocalHost } from '../local-host.ts'
import { ensureWritesSetting, findFilesHash } from '../postgres/files.ts'
import { ensureReloaded, findPostmaster } from '../postgres/process.ts'
import { withSuperuser } from '../postgres/superuser.ts'

/** At once for one that runs, whatever else is being done to it. */
export async function ensureWrites(host: LocalHost, place: Place): Promise<void> {
  await ensureWritesSetting(host, place)
  const { postmaster } = await findPostmaster(place)
  if (!postmaster?.ready) return
  await ensureReloaded(host.effect, place, postmaster, await findFilesHash(place, true))
  await ensureWritersStopped(host, place)
}

/** One statement can fill a disk. */
export async function ensureWritersStopped({ effect, room_watch }: LocalHost, place: Place): Promise<void> {
  const low_since = room_watch.lowSince()
  if (!low_since) return
  await effect('writers: interrupt')
  await withSuperuser(place, {}, (client) =>
    client.query(
      `select count(pg_catalog.pg_cancel_backend(pid)) from pg_catalog.pg_stat_activity
       where backend_type = 'client backend' and usename <> 'postgres' and state = 'active'
         and backend_xid is not null and xact_start < $1`,
      [low_since],
    ),
  )
}
