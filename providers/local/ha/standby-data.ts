// The data directory of a standby: a copy of its running primary, made aside and renamed into place whole and durable.
// One that was a primary before is turned round as it lies there; whether it can follow is seen when it tries.
import { mkdir, rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { copyRunning } from '../snapshot/cluster-copy.ts'
import { chownTree, syncOne, syncTree } from '../host/tree.ts'
import { ensureEntryRemoved, ensureRemoved, type Effect } from '../host/effect.ts'
import { statIfThere } from '../host/look.ts'
import { withHold } from '../host/hold.ts'
import type { Place } from '../host/layout.ts'
import type { HaHost } from './ha-host.ts'
import { requireRoom } from '../host/room.ts'
import { ensureKilled } from '../postgres/process.ts'
import { findEntry, listNames, removeTree, replaceFile } from '../host/tenant-files.ts'

/** Its failure, such as a full disk, is thrown. */
export async function ensureStandbyData(host: HaHost, place: Place, primary: Place): Promise<'there' | 'copying'> {
  if (await statIfThere(place.data)) return 'there'
  const name = `${place.service_id}/node_${place.node}/data`
  await host.jobs.ensure(name, (signal) => make(host, place, primary, signal))
  return (await statIfThere(place.data)) ? 'there' : 'copying'
}

/** Whether this data makes its server follow, instead of being a primary. */
export async function isStandby(place: Place): Promise<boolean> {
  return findEntry(place.data, standby_signal) !== undefined
}

/** From its next start on it follows. Nothing may run on it. */
export async function ensureFollowing(effect: Effect, place: Place): Promise<void> {
  if (await isStandby(place)) return
  // Slots of those who followed it would keep WAL that nobody will ever fetch here.
  const slots = findEntry(place.data, 'pg_replslot') ? listNames(place.data, 'pg_replslot') : []
  for (const name of slots) {
    await ensureEntryRemoved(effect, 'forgotten slot', place.data, `pg_replslot/${name}`)
  }
  await effect('standby: turn round')
  await replaceFile(place.data, standby_signal, '', { owner: place.owner, durable: true })
}

/** Takes data that is of no use any more out of the way; the space comes back when it is copied anew, or removed. */
export async function ensureDataAway(effect: Effect, place: Place): Promise<void> {
  await ensureKilled(effect, place)
  if (!(await statIfThere(place.data))) return
  await ensureRemoved(effect, 'useless data directory', place.data_gone)
  await effect('useless data directory: rename away')
  await rename(place.data, place.data_gone)
}

const standby_signal = 'standby.signal'

async function make(host: HaHost, place: Place, primary: Place, signal: AbortSignal): Promise<void> {
  const { effect } = host
  const aside = place.data_aside
  await withHold(effect, { ...place, copying: place.making }, 'making its data', async () => {
    // A look that came meanwhile may have found a killed server's work finished.
    if (await statIfThere(place.data)) return
    // Somebody may have removed the folder under a running server; where none was ever started there is nothing to look for.
    if (await statIfThere(place.settings)) await ensureKilled(effect, place)
    try {
      await ensureRemoved(effect, 'useless data directory', place.data_gone)
      await ensureRemoved(effect, 'unfinished data directory', aside)
      requireRoom(place.home)
      await copyRunning(effect, primary, aside, signal)
      await forgetArchived(aside)
      for (const name of [standby_signal, 'postgresql.auto.conf']) {
        await writeFile(join(aside, name), '', { mode: 0o600, flag: 'wx' })
      }
      if (place.owner) await chownTree(aside, place.owner)
      await effect('standby: make durable')
      await syncTree(aside)
      await effect('standby: rename into place')
      await rename(aside, place.data)
      await syncOne(place.node_home)
    } finally {
      // Nothing when it was renamed into place; what was cut off gives its space back. Whoever breaks it off is in a hurry.
      if (!signal.aborted) await ensureRemoved(effect, 'unfinished data directory', aside)
    }
  })
}

/** Should it take over, what its primary did not come to archive is its to archive. */
async function forgetArchived(aside: string): Promise<void> {
  const folder = join(aside, 'pg_wal', 'archive_status')
  await removeTree(folder)
  await mkdir(folder, { mode: 0o700 })
}
