// How finely history is kept, and for how long. Pure.

export type Tier = { bucket_seconds: number; kept_seconds: number }

/** From the finest to the coarsest; each is a whole multiple of the one before. */
export const tiers = [
  { bucket_seconds: 10, kept_seconds: 3600 },
  { bucket_seconds: 60, kept_seconds: 24 * 3600 },
  { bucket_seconds: 900, kept_seconds: 30 * 24 * 3600 },
] as const satisfies Tier[]

/** The coarsest tier that is fine enough, among those that reach back far enough; else the finest that does. */
export function tierFor(from_ms: number, now_ms: number, bucket_seconds: number): Tier {
  const coarsest = tiers[2]
  const reaching = tiers.filter(({ kept_seconds }) => from_ms >= now_ms - kept_seconds * 1000)
  return reaching.findLast((tier) => tier.bucket_seconds <= bucket_seconds) ?? reaching[0] ?? coarsest
}
