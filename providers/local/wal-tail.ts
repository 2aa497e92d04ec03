// What a lost primary wrote and could send to nobody any more. Its processes are gone, but where its data directory is still
// there the rest of its WAL goes to the replica that takes over: nothing at all is lost then, whatever was promised, and the
// lost one can follow at once because it has not gone its own way.
// Done as the service's user, because both folders are that user's; each file whole or not at all.
import { execFile } from 'node:child_process'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Effect } from './effect.ts'
import type { Place } from './layout.ts'
import type { Position } from './quorum.ts'
import { isHistory, listSegments } from './wal.ts'

const copy_timeout_ms = 60_000

/** The timeline on which the WAL in the replica's folder ends afterwards. Nothing may run on either directory. */
export async function ensureTail(effect: Effect, lost: Place, elected: Place, position: Position): Promise<number> {
  const [from, to] = [join(lost.data, 'pg_wal'), join(elected.data, 'pg_wal')]
  const segments = await listSegments(from)
  const begin = (segment_bytes: number) => Number(position.lsn / BigInt(segment_bytes))
  const tail = segments.filter(
    ({ name, number, bytes }) => number >= begin(bytes) && timelineOf(name) >= position.timeline,
  )
  const [first] = tail
  // Further behind than its primary kept WAL for it, or exactly at the end.
  if (first === undefined || first.number !== begin(first.bytes)) return position.timeline
  const known = await readdir(to)
  const histories = (await readdir(from)).filter((name) => isHistory(name) && !known.includes(name))
  await effect('WAL of the lost primary: take over')
  const script =
    'for f; do cp --reflink=auto "$0/$f" "$f.tail" && sync "$f.tail" && mv -f "$f.tail" "$f" || exit 1; done'
  await promisify(execFile)('/bin/sh', ['-c', script, from, ...histories, ...tail.map(({ name }) => name)], {
    cwd: to,
    env: { PATH: '/usr/bin:/bin' },
    timeout: copy_timeout_ms,
    ...elected.owner,
  })
  return Math.max(...tail.map(({ name }) => timelineOf(name)))
}

const timelineOf = (name: string) => Number.parseInt(name.slice(0, 8), 16)
