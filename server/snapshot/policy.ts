// The schedule of a service's snapshots, pure: its own, as people write it, or the installation's.
import type { Problem } from '#contract/problem.ts'
import type { SnapshotPolicy as WrittenPolicy } from '#contract/snapshot.ts'
import type { SnapshotPolicy } from './rules.ts'

/** The columns of a service; null: as the installation says. */
type OwnPolicy = { snapshot_every_seconds: number | null; snapshot_keep_seconds: number | null }

const unit_seconds = { m: 60, h: 3600, d: 86_400, w: 604_800 } as const
const every_seconds = { least: 60, most: 30 * 86_400 }
const keep_seconds_max = 52 * 604_800
/** A snapshot may be a copy of all that there is. */
const kept_max = 1000

export function policyOf({ snapshot_every_seconds, snapshot_keep_seconds }: OwnPolicy, usual: SnapshotPolicy) {
  if (snapshot_every_seconds === null || snapshot_keep_seconds === null) return usual
  return { interval_seconds: snapshot_every_seconds, kept: Math.ceil(snapshot_keep_seconds / snapshot_every_seconds) }
}

/** Neither of them: the installation's. */
export function parsePolicy({ every, keep }: Partial<WrittenPolicy>, problems: Problem[]): OwnPolicy {
  const none = { snapshot_every_seconds: null, snapshot_keep_seconds: null }
  if (every === undefined && keep === undefined) return none
  if (every === undefined) problems.push({ path: '/every', message: 'is required with /keep' })
  if (keep === undefined) problems.push({ path: '/keep', message: 'is required with /every' })
  if (every === undefined || keep === undefined) return none
  const [every_s, keep_s] = [secondsOf(every), secondsOf(keep)]
  if (every_s < every_seconds.least || every_s > every_seconds.most) {
    problems.push({ path: '/every', message: 'must be from 1m to 30d' })
  } else if (keep_s < every_s || keep_s > keep_seconds_max) {
    problems.push({ path: '/keep', message: `must be from /every, which is ${every}, to 52w` })
  } else if (keep_s / every_s > kept_max) {
    problems.push({ path: '/keep', message: `must be at most ${kept_max} times /every` })
  }
  return { snapshot_every_seconds: every_s, snapshot_keep_seconds: keep_s }
}

/** As people write it; undefined for a service without its own. */
export function writtenPolicyOf({ snapshot_every_seconds, snapshot_keep_seconds }: OwnPolicy) {
  if (snapshot_every_seconds === null || snapshot_keep_seconds === null) return undefined
  return { every: durationOf(snapshot_every_seconds), keep: durationOf(snapshot_keep_seconds) }
}

/** In the largest unit up to days. */
function durationOf(seconds: number): string {
  const fitting = Object.entries(unit_seconds).findLast(([name, unit]) => name !== 'w' && seconds % unit === 0)
  const [name, unit] = fitting ?? ['m', 60]
  return `${seconds / unit}${name}`
}

/** Of a text that the contract's pattern has accepted. */
function secondsOf(text: string): number {
  return Number(text.slice(0, -1)) * unit_seconds[text.slice(-1) as keyof typeof unit_seconds]
}
