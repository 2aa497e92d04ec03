// What a lost primary wrote and could send to nobody any more. Its processes are gone, but where its data directory is still
// there the rest of its WAL goes to the replica that takes over: nothing at all is lost then, whatever was promised, and the
// lost one can follow at once because it has not gone its own way.
// 1. What the replica has is not touched: of the file that it was writing only what comes after is taken.
// 2. All of it is done as the service's user, because both folders are that user's.
import { execFile } from 'node:child_process'
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { signalIfThere } from '../../host/daemon.ts'
import { ensureFenced } from './fence.ts'
import { ensureFolder, ensureRemoved, type Effect } from '../host/effect.ts'
import type { Node } from '../host/layout.ts'
import { statIfThere } from '../../host/read.ts'
import { findPostmaster } from '../postgres/process.ts'
import { findEntry } from '../host/tenant-files.ts'
import type { Position } from './quorum.ts'
import { archiveAt, isHistory, listSegments, pgWalOf, timelineOf, walNames } from '../wal/wal.ts'

const copy_timeout_ms = 60_000
/** It looks several times a second by itself. */
const ask_wait_ms = 1_000
const poll_every_ms = 3

/** A page of WAL: whatever is before a position in its page is the same on both sides. */
const page_bytes = 8_192n

/** What the elected one lacks: of files that it has begun the rest, the others whole. */
type Tail = { begun: string[]; others: string[]; offset: bigint; timeline: number }

/** The timeline on which the WAL in the replica's folder ends afterwards. Nothing may run on either directory. */
export async function ensureTail(effect: Effect, lost: Node, elected: Node, position: Position): Promise<number> {
  const tail = await tailOf(lost, elected, position)
  if (tail === undefined) return position.timeline
  await effect('WAL of the lost primary: take over')
  await takeOver(lost, elected, tail, join(elected.data, 'pg_wal'))
  return tail.timeline
}

/**
 * The same for one that runs: what it lacks is laid where its own command finds it, and true is returned when it has been seen to
 * look there since. Until then it might end its recovery by a look from before.
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
  await run(elected, aside, endOf(tail), [own, others, tail.begun.length, ...tail.begun, ...tail.others].map(String))
  await effect('WAL of the lost primary: offer')
  await rename(aside, elected.tail)
  return await isAskedFor(effect, elected)
}

/**
 * Of one that was ended before it had read it all. `all`: it is to be the primary all the same. `lost`: only what it had itself and
 * has no more, because PostgreSQL removes its own file before it renames the one that it was offered.
 */
export async function ensureTailTaken(effect: Effect, node: Node, what: 'all' | 'lost'): Promise<void> {
  if (!(await statIfThere(node.tail))) return
  // A process that outlives its postmaster for a moment may be in the middle of that.
  await ensureFenced(effect, node)
  const known = new Set(what === 'all' ? [] : walNames(pgWalOf(node.data)))
  const names = walNames(archiveAt(node.tail)).filter((name) => name !== asked_mark && !known.has(name))
  await effect('WAL of the lost primary: take over')
  await run(node, join(node.data, 'pg_wal'), whole_files, [node.tail, ...names])
  await ensureRemoved(effect, 'WAL of the lost primary', node.tail)
}

/** By which the command of a replica says that it has looked in its folder. */
export const asked_mark = 'asked'

async function isAskedFor(effect: Effect, elected: Node): Promise<boolean> {
  const { postmaster } = await findPostmaster(elected)
  if (!postmaster) return false
  // It looks now and then; called, it looks at once.
  await effect('replica: call')
  signalIfThere(postmaster.pid, 'SIGHUP')
  for (const deadline = performance.now() + ask_wait_ms; performance.now() < deadline; await pause(poll_every_ms)) {
    if (findEntry(elected.tail, asked_mark)) return true
  }
  return false
}

/** Undefined: it lacks nothing, or what it lacks is not to be had. */
async function tailOf(lost: Node, elected: Node, position: Position): Promise<Tail | undefined> {
  // What cannot be read any more is lost; then the replica has what it has.
  const segments = await listSegments(pgWalOf(lost.data)).catch(() => [])
  const begin = (segment_bytes: number) => Number(position.lsn / BigInt(segment_bytes))
  const tail = segments.filter(
    ({ name, number, bytes }) => number >= begin(bytes) && timelineOf(name) >= position.timeline,
  )
  const [first] = tail
  // Further behind than its primary kept WAL for it, or exactly at the end.
  if (first === undefined || first.number !== begin(first.bytes)) return undefined
  const known = new Set(walNames(pgWalOf(elected.data)))
  const histories = walNames(pgWalOf(lost.data)).filter((name) => isHistory(name) && !known.has(name))
  const begun = tail.filter(({ name, number }) => number === first.number && known.has(name)).map(({ name }) => name)
  const others = tail.map(({ name }) => name).filter((name) => !begun.includes(name))
  return {
    begun,
    others: [...histories, ...others],
    offset: ((position.lsn % BigInt(first.bytes)) / page_bytes) * page_bytes,
    timeline: Math.max(...tail.map(({ name }) => timelineOf(name))),
  }
}

async function takeOver(lost: Node, elected: Node, { begun, others, offset }: Tail, to: string): Promise<void> {
  const from = join(lost.data, 'pg_wal')
  await run(elected, to, `for f; do dd "if=$0/$f" "of=$f" ${fromOffset(offset)} || exit 1; done`, [from, ...begun])
  await run(elected, to, whole_files, [from, ...others])
}

/** The same into an empty folder, by one process. Its words: the folders of its own files and of the lost one's, how many are begun, all names. */
function endOf({ offset }: Tail): string {
  const begun = `cp --reflink=auto "$0/$f" "$f" && dd "if=$lost/$f" "of=$f" ${fromOffset(offset)}`
  const other = `cp --reflink=auto "$lost/$f" "$f"`
  return `lost=$1 left=$2; shift 2
    for f; do if [ $left -gt 0 ]; then ${begun}; else ${other}; fi || exit 1; left=$((left - 1)); done`
}

const fromOffset = (offset: bigint) =>
  `bs=1M iflag=skip_bytes oflag=seek_bytes conv=notrunc status=none skip=${offset} seek=${offset}`

const whole_files = 'for f; do cp --reflink=auto "$0/$f" "$f.tail" && mv -f "$f.tail" "$f" || exit 1; done'

async function run({ owner }: Node, cwd: string, script: string, words: readonly string[]): Promise<void> {
  if (words.length < 2) return
  const env = { PATH: '/usr/bin:/bin' }
  await promisify(execFile)('/bin/sh', ['-c', script, ...words], { cwd, env, timeout: copy_timeout_ms, ...owner })
}
