// Durations as people write them, and what they make of the input of a fork. Pure: now comes in.
import type { CreateGiven, ForkGiven } from './howdah-type.ts'

const unit_ms = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 } as const

/** `90s`, `15m`, `2h`, `7d`, `1w`, also together: `1h30m`. In milliseconds. */
export function parseDuration(text: string): number | undefined {
  if (!/^(\d{1,6}[smhdw])+$/.test(text)) return undefined
  const parts = [...text.matchAll(/(\d+)([smhdw])/g)]
  // The pattern has no other letters.
  return parts.reduce((sum, [, count, unit]) => sum + Number(count) * unit_ms[unit as keyof typeof unit_ms], 0)
}

/** The body of a create: `expires_in` becomes `expires_at`. */
export function createBody({ expires_in, ...others }: Partial<CreateGiven>, now: Date): Record<string, unknown> {
  if (expires_in === undefined) return others
  const duration_ms = parseDuration(expires_in)
  if (duration_ms === undefined)
    throw new TypeError(`expires_in: ${JSON.stringify(expires_in)} is no duration, such as 2h`)
  return { expires_at: new Date(now.getTime() + duration_ms).toISOString(), ...others }
}

/** The body of a fork: without a moment it is NOW. */
export function forkBody({ at, ...others }: ForkGiven, now: Date): Record<string, unknown> {
  const body = createBody(others, now)
  if (at === undefined) return { fork_strategy: 'NOW', ...body }
  return { fork_strategy: 'PITR', target_time: typeof at === 'string' ? at : at.toISOString(), ...body }
}
