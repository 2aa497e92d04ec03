// How much of the disk a service may take, and what follows from its usage. Pure: the clock comes in.
//
// The quota counts data and WAL of the primary, and the archive. The archive gives way first: from 100 % on it is cut down to
// the newest snapshot. Writes are refused when data and WAL alone take 100 %, or all three a tenth more. A transaction that
// says `begin read write`, to free space, has a tenth beyond that, 256 MB at least, and the archive of its WAL two tenths more.
// A service that takes more is shut: logins are refused for a while, which doubles each time.
import { diskGbsOf } from '../../postgres/size.ts'
import type { ObservedEvent, Size } from '../../provider.ts'

/** `data_bytes`: with the WAL. */
export type Used = { data_bytes: number; archive_bytes: number }

export type Level = 'within' | 'near' | 'full' | 'shut'

export type QuotaState = {
  level: Level
  /** When the level changed. */
  since: Date
  used: Used
  /** The archive is to give way. */
  presses: boolean
  /** When a service that is shut is opened again. */
  shut_until_ms: number
  shut_ms: number
  /** The share of the quota at which it is shut. It rises while it stays full, so that each opening has something to free. */
  shuts_at: number
}

const gib = 1024 ** 3

/** A service is near its quota from `begin` on until it takes less than `end`, and so on. */
const near = { begin: 0.9, end: 0.85 }
const full = { begin: 1, end: 0.95 }
const pressing = { begin: 1, end: 0.9 }
/** Cutting an archive of less than this share of the quota gains nothing. */
const archive_share_min = 0.05
/** What the archive may take beyond the quota, because it needs a snapshot, and so some time, to give way. */
const archive_extra = 0.1
/** The same before it is shut: WAL from before writes were refused may yet have to be archived. */
const archive_extra_insisting = 0.3
/** For transactions that free space, counted from where writes were refused; and for those of a service that was shut. */
const freeing = { share: 0.1, bytes: 256 * 1024 ** 2 }
const opening = { share: 0.01, bytes: 16 * 1024 ** 2 }
const shut_ms = { first: 15_000, last: 3_600_000 }

/** Faster than any disk fills. */
const bytes_per_ms_max = gib / 1000
const measure_every_ms = { least: 500, most: 10_000 }
/** A huge data directory is walked over less often: a twentieth of the time at most. */
const walk_share = 20

/** Undefined: there is no quota. */
export function quotaBytesOf(size: Size, gbs_per_memory_gb: number): number | undefined {
  const gbs = diskGbsOf(size, gbs_per_memory_gb)
  return gbs === undefined ? undefined : Math.round(gbs * gib)
}

/** `ms`: of a clock that is never set, so that a service is shut no longer than it should be. */
type Now = { ms: number; date: Date }

/** `before`: undefined at the first measure of a service. */
export function quotaStateOf(before: QuotaState | undefined, used: Used, quota_bytes: number, now: Now): QuotaState {
  const { data, total, share, insisting } = sharesOf(used, quota_bytes)
  const was = before?.level ?? 'within'
  const was_full = was === 'full' || was === 'shut'
  const is_full = share >= (was_full ? full.end : full.begin)
  const presses = total >= (before?.presses ? pressing.end : pressing.begin) && total - data >= archive_share_min
  const state = { used, presses, ...shutOf(before, is_full, insisting, { quota_bytes, ...now }) }
  const level = leveled(state, is_full, total >= (was === 'within' ? near.begin : near.end), now)
  return { ...state, level, since: before && level === was ? before.since : now.date }
}

/** `share`: what decides whether writes are refused; `insisting`: whether it is shut. */
function sharesOf({ data_bytes, archive_bytes }: Used, quota_bytes: number) {
  const data = data_bytes / quota_bytes
  const total = (data_bytes + archive_bytes) / quota_bytes
  const share = Math.max(data, total - archive_extra)
  return { data, total, share, insisting: Math.max(data, total - archive_extra_insisting) }
}

type Shut = Pick<QuotaState, 'shut_until_ms' | 'shut_ms' | 'shuts_at'>

function shutOf(
  before: QuotaState | undefined,
  is_full: boolean,
  share: number,
  now: { ms: number; quota_bytes: number },
): Shut {
  const was_full = before?.level === 'full' || before?.level === 'shut'
  if (!before || !is_full || !was_full) {
    // A service that was full before its server was restarted has had its chance.
    const more = diskSpaceOf(before ? freeing : opening, now)
    return { shut_until_ms: 0, shut_ms: shut_ms.first, shuts_at: Math.max(1 + diskSpaceOf(freeing, now), share + more) }
  }
  const { shut_until_ms, shuts_at } = before
  if (now.ms < shut_until_ms) return { shut_until_ms, shut_ms: before.shut_ms, shuts_at }
  // It is opened now, with a little more to go on with.
  if (before.level === 'shut') {
    return {
      shut_until_ms: 0,
      shut_ms: before.shut_ms,
      shuts_at: Math.max(shuts_at, share + diskSpaceOf(opening, now)),
    }
  }
  if (share < shuts_at) return { shut_until_ms: 0, shut_ms: before.shut_ms, shuts_at }
  return {
    shut_until_ms: now.ms + before.shut_ms,
    shut_ms: Math.min(2 * before.shut_ms, shut_ms.last),
    shuts_at,
  }
}

const diskSpaceOf = ({ share, bytes }: typeof freeing, { quota_bytes }: { quota_bytes: number }) =>
  Math.max(share, bytes / quota_bytes)

function leveled({ shut_until_ms }: Shut, is_full: boolean, is_near: boolean, now: { ms: number }): Level {
  if (is_full) return now.ms < shut_until_ms ? 'shut' : 'full'
  return is_near ? 'near' : 'within'
}

/** How long a service needs at least to reach the bound at which it is shut; and measuring takes a bounded share of the time. */
export function measureAgainInMs({ data_bytes, archive_bytes }: Used, quota_bytes: number, took_ms: number): number {
  const left_bytes = quota_bytes * (1 + freeing.share) - data_bytes - archive_bytes
  const in_ms = Math.min(Math.max(left_bytes / bytes_per_ms_max, measure_every_ms.least), measure_every_ms.most)
  return Math.max(in_ms, took_ms * walk_share)
}

/** The events of a change of level; that a service is full shows in its waiting_for. */
export function eventsOf(before: QuotaState | undefined, state: QuotaState, quota_bytes: number): ObservedEvent[] {
  const { data_bytes, archive_bytes } = state.used
  const parts = `${inGb(data_bytes)} of data and WAL, ${inGb(archive_bytes)} of archive`
  const told: string[] = []
  if (state.level !== 'within' && (before?.level ?? 'within') === 'within') {
    told.push(`${near.begin * 100} % of its disk quota of ${inGb(quota_bytes)} are taken: ${parts}`)
  }
  if (state.presses && !before?.presses) {
    told.push(
      `its archive gives way, because its disk quota of ${inGb(quota_bytes)} is used up: ${parts}; recovery begins at a newer snapshot`,
    )
  }
  return told.map((message) => ({ kind: 'disk_quota', message }))
}

/** What the level means for its users; undefined when it means nothing to them. */
export function sentenceOf({ level }: QuotaState, quota_bytes: number): string | undefined {
  const quota = `its disk quota of ${inGb(quota_bytes)}`
  const remedy = 'delete data in transactions that start with `begin read write`, or choose a larger size'
  if (level === 'full') return `${quota} is used up: it serves reads only; ${remedy}`
  if (level === 'shut')
    return `${quota} is exceeded, and it went on to grow: logins are refused for a while; then ${remedy}`
  return undefined
}

function inGb(bytes: number): string {
  return `${Number((bytes / gib).toFixed(1))} GB`
}
