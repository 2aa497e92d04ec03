// The WAL that a lost primary wrote and did not send to any replica. Its processes are killed, but where its data directory still
// exists the rest of its WAL goes to the replica that takes over: no commit at all is lost then, waited for or not, and the
// lost node can follow at once because it has not diverged.
// 1. WAL that the replica has is not touched: of the file that it was writing only the later bytes are taken.
// 2. It is on the disk before it takes the place of what the replica has: after a loss of power that would be gone, too.
// 3. Everything runs as the service's user, who owns both folders.
// 4. What copies ends with the server that began it, but for the file that it is at; a takeover fences that first.
import { execFile } from 'node:child_process'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { signalIfThere } from '../../host/daemon.ts'
import { ensureFenced } from './fence.ts'
import { ensureFolder, ensureRemoved, type Effect } from '../host/effect.ts'
import type { Node } from '../host/layout.ts'
import { isExhausted, statIfThere } from '../../host/read.ts'
import { findPostmaster } from '../postgres/process.ts'
import { segmentNameOf, segmentNumberAt } from '../../postgres/lsn.ts'
import { findEntry } from '../host/tenant-files.ts'
import type { Position } from './quorum.ts'
import {
  archiveAt,
  isHistory,
  listSegments,
  newestTimeline,
  pgWalOf,
  timelineOf,
  walNames,
  type Segment,
} from '../wal/wal.ts'
import { findPathTo, firstGap } from '../wal/timeline.ts'

const copy_timeout_ms = 60_000
/** The replica polls several times a second by itself. */
const ask_wait_ms = 1_000
const poll_every_ms = 3

/** A page of WAL: bytes of the page before a position are the same on both sides. */
const page_bytes = 8_192n

/** What the elected replica lacks: the rest of the files that it has begun, the others whole. */
type Tail = { begun: string[]; others: string[]; offset: bigint; timeline: number }

/** Returns the timeline on which the WAL in the replica's folder then ends. No server may run on either directory. */
export async function ensureTail(effect: Effect, lost: Node, elected: Node, position: Position): Promise<number> {
  const tail = await tailOf(lost, elected, position)
  if (tail === undefined) return position.timeline
  await effect('WAL of the lost primary: take over')
  await takeOver(lost, elected, tail, join(elected.data, 'pg_wal'))
  return tail.timeline
}

/**
 * The same for a running replica: its restore_command finds there what it lacks. True when the command is observed to have run
 * since; until then the replica might end its recovery by an earlier result of it.
 */
export async function ensureTailOffered(
  effect: Effect,
  lost: Node,
  elected: Node,
  position: Position,
): Promise<boolean> {
  const tail = await tailOf(lost, elected, position)
  if (tail === undefined) return true
  const aside = `${elected.tail}.new`
  await ensureRemoved(effect, 'WAL of the lost primary', elected.tail)
  await ensureRemoved(effect, 'WAL of the lost primary', aside)
  await ensureFolder(effect, 'WAL of the lost primary', aside, 0o700, elected.owner)
  await effect('WAL of the lost primary: lay aside')
  const [own, others] = [elected, lost].map(({ data }) => join(data, 'pg_wal'))
  const words = [own, others, tail.begun.length, ...tail.begun, ...tail.others].map(String)
  await run(elected, aside, endOf(tail), words).catch(async (error: unknown) => {
    // A full disk gets its space back.
    await ensureRemoved(effect, 'WAL of the lost primary', aside)
    throw error
  })
  await effect('WAL of the lost primary: offer')
  await rename(aside, elected.tail)
  return await hasReadTail(effect, elected)
}

/**
 * For a replica that was killed before it had read the tail. `all`: it is to be the primary all the same. `lost`: only the file that
 * it had itself and lost, because PostgreSQL removes its own file before it renames the offered one.
 */
export async function ensureTailTaken(effect: Effect, node: Node, what: 'all' | 'lost'): Promise<void> {
  if (!(await statIfThere(node.tail))) return
  // A process that outlives its postmaster for a moment may be renaming such a file.
  await ensureFenced(effect, node)
  const known = new Set(what === 'all' ? [] : await walNames(pgWalOf(node.data)))
  const names = (await walNames(archiveAt(node.tail))).filter((name) => name !== asked_mark && !known.has(name))
  await effect('WAL of the lost primary: take over')
  await run(node, join(node.data, 'pg_wal'), whole_files, [node.tail, ...names])
  await ensureRemoved(effect, 'WAL of the lost primary', node.tail)
}

/** By which the restore_command of a replica reports that it has read the folder. */
const asked_mark = 'asked'

async function hasReadTail(effect: Effect, elected: Node): Promise<boolean> {
  const { postmaster } = await findPostmaster(elected)
  if (!postmaster) return false
  // It polls; a signal makes it poll at once.
  await effect('replica: call')
  signalIfThere(postmaster.pid, 'SIGHUP')
  for (const deadline = performance.now() + ask_wait_ms; performance.now() < deadline; await pause(poll_every_ms)) {
    if (findEntry(elected.tail, asked_mark)) return true
  }
  return false
}

/** Whether nothing lies between this position and the WAL that the lost primary still has. */
export async function hasWalAfter(lost: Node, position: Position): Promise<boolean> {
  const [first] = await listAfter(lost, position)
  return first === undefined || first.number === numberOf(position, first)
}

/** The first file between this position and that WAL which the archive lacks: without it no replica gets there. */
export async function findMissing(lost: Node, position: Position): Promise<string | undefined> {
  const [first] = await listAfter(lost, position)
  if (first === undefined) return undefined
  const [archive, pg_wal] = [archiveAt(lost.archive), pgWalOf(lost.data)]
  const own = segmentNameOf(position.timeline, numberOf(position, first), first.bytes)
  const path = findPathTo(timelineOf(first.name), [pg_wal, archive])
  return firstGap([...(await listSegments(archive, own, first.name)), first], own, path)
}

/** Undefined: it lacks nothing, or the lost primary no longer has what it lacks. */
async function tailOf(lost: Node, elected: Node, position: Position): Promise<Tail | undefined> {
  const tail = await listAfter(lost, position)
  const [first] = tail
  // The replica is further behind than its primary kept WAL for it, or exactly at the end.
  if (first === undefined || first.number !== numberOf(position, first)) return undefined
  const known = new Set(await walNames(pgWalOf(elected.data)))
  const histories = (await walNames(pgWalOf(lost.data))).filter((name) => isHistory(name) && !known.has(name))
  const begun = tail.filter(({ name, number }) => number === first.number && known.has(name)).map(({ name }) => name)
  const others = tail.map(({ name }) => name).filter((name) => !begun.includes(name))
  return {
    begun,
    others: [...histories, ...others],
    offset: ((position.lsn % BigInt(first.bytes)) / page_bytes) * page_bytes,
    timeline: newestTimeline(
      0,
      tail.map(({ name }) => name),
    ),
  }
}

/** From the file with the position on, oldest first. An unreadable folder offers nothing; then the replica has what it has. */
async function listAfter(lost: Node, position: Position): Promise<Segment[]> {
  const segments = await listSegments(pgWalOf(lost.data)).catch((error: unknown): Segment[] => {
    if (isExhausted(error)) throw error
    return []
  })
  return segments.filter((one) => one.number >= numberOf(position, one) && timelineOf(one.name) >= position.timeline)
}

const numberOf = ({ lsn }: Position, { bytes }: Segment) => segmentNumberAt(lsn, bytes)

async function takeOver(lost: Node, elected: Node, { begun, others, offset }: Tail, to: string): Promise<void> {
  const from = join(lost.data, 'pg_wal')
  await run(elected, to, `for f; do dd "if=$0/$f" "of=$f" ${fromOffset(offset)} || exit 1; done`, [from, ...begun])
  await run(elected, to, whole_files, [from, ...others])
}

/** The same into an empty folder, by one process. Its arguments: the folders of its own files and of the lost node's, how many are begun, all names. */
function endOf({ offset }: Tail): string {
  const begun = `cp --reflink=auto "$0/$f" "$f" && dd "if=$lost/$f" "of=$f" ${fromOffset(offset)}`
  const other = `cp --reflink=auto "$lost/$f" "$f" && sync "$f"`
  return `lost=$1 left=$2; shift 2
    for f; do if [ $left -gt 0 ]; then ${begun}; else ${other}; fi || exit 1; left=$((left - 1)); done`
}

const fromOffset = (offset: bigint) =>
  `bs=1M iflag=skip_bytes oflag=seek_bytes conv=notrunc,fsync status=none skip=${offset} seek=${offset}`

const whole_files =
  'for f; do cp --reflink=auto "$0/$f" "$f.tail" && sync "$f.tail" && mv -f "$f.tail" "$f" || { rm -f "$f.tail"; exit 1; }; done'

async function run({ owner }: Node, cwd: string, script: string, words: readonly string[]): Promise<void> {
  if (words.length < 2) return
  const env = { PATH: '/usr/bin:/bin' }
  const options = { cwd, env, timeout: copy_timeout_ms, ...owner }
  const shell = ['--pdeathsig=KILL', '--', '/bin/sh', '-c', script, ...words]
  await promisify(execFile)('setpriv', shell, options).catch((error: unknown) => {
    const is_full = error instanceof Error && /No space left on device|Disk quota exceeded/.test(error.message)
    throw is_full ? Object.assign(error, { code: 'ENOSPC' }) : error
  })
}
