// What a lost primary wrote and could send to nobody any more. Its processes are gone, but where its data directory is still
// there the rest of its WAL goes to the replica that takes over: nothing at all is lost then, whatever was promised, and the
// lost one can follow at once because it has not gone its own way.
// 1. What the replica has is not touched: of the file that it was writing only what comes after is taken.
// 2. All of it is done as the service's user, because both folders are that user's.
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Effect } from '../effect.ts'
import type { Place } from '../layout.ts'
import type { Position } from './quorum.ts'
import { isHistory, listSegments, pgWalOf, walNames } from '../wal/wal.ts'

const copy_timeout_ms = 60_000

/** A page of WAL: whatever is before a position in its page is the same on both sides. */
const page_bytes = 8_192n

/** The timeline on which the WAL in the replica's folder ends afterwards. Nothing may run on either directory. */
export async function ensureTail(effect: Effect, lost: Place, elected: Place, position: Position): Promise<number> {
  const [from, to] = [join(lost.data, 'pg_wal'), join(elected.data, 'pg_wal')]
  // What cannot be read any more is lost; then the replica has what it has.
  const segments = await listSegments(pgWalOf(lost.data)).catch(() => [])
  const begin = (segment_bytes: number) => Number(position.lsn / BigInt(segment_bytes))
  const tail = segments.filter(
    ({ name, number, bytes }) => number >= begin(bytes) && timelineOf(name) >= position.timeline,
  )
  const [first] = tail
  // Further behind than its primary kept WAL for it, or exactly at the end.
  if (first === undefined || first.number !== begin(first.bytes)) return position.timeline
  const known = new Set(walNames(pgWalOf(elected.data)))
  const histories = walNames(pgWalOf(lost.data)).filter((name) => isHistory(name) && !known.has(name))
  const begun = tail.filter(({ name, number }) => number === first.number && known.has(name)).map(({ name }) => name)
  const others = tail.map(({ name }) => name).filter((name) => !begun.includes(name))
  const offset = ((position.lsn % BigInt(first.bytes)) / page_bytes) * page_bytes
  await effect('WAL of the lost primary: take over')
  const end = `bs=1M iflag=skip_bytes oflag=seek_bytes conv=notrunc status=none skip=${offset} seek=${offset}`
  await run(elected, to, `for f; do dd "if=$0/$f" "of=$f" ${end} || exit 1; done`, [from, ...begun])
  const whole = 'for f; do cp --reflink=auto "$0/$f" "$f.tail" && mv -f "$f.tail" "$f" || exit 1; done'
  await run(elected, to, whole, [from, ...histories, ...others])
  return Math.max(...tail.map(({ name }) => timelineOf(name)))
}

async function run({ owner }: Place, cwd: string, script: string, words: readonly string[]): Promise<void> {
  if (words.length < 2) return
  const env = { PATH: '/usr/bin:/bin' }
  await promisify(execFile)('/bin/sh', ['-c', script, ...words], { cwd, env, timeout: copy_timeout_ms, ...owner })
}

const timelineOf = (name: string) => Number.parseInt(name.slice(0, 8), 16)
