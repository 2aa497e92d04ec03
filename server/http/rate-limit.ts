// Rate limits: token buckets in memory. Each key may send `burst` at once and `per_second` for long.
// 1. Cheap: one read of a map. 2. Memory is bounded: what has long been idle is dropped, which only ever forgives.
// 3. Each server process counts for itself: behind a load balancer the limits add up.

export type RateLimit = {
  /** Takes one. 0 when there was one to take, else the whole seconds until there will be. */
  take(key: string): number
}

type Bucket = { left: number; at: number }

const generation_keys_max = 10_000

export function newRateLimit(
  { per_second, burst }: { per_second: number; burst: number },
  now: () => number = () => performance.now(),
): RateLimit {
  // Two generations, so that a key in use costs one read and leaves no garbage: when the younger one is full it becomes
  // the older one, and what is still in use moves on.
  let younger = new Map<string, Bucket>()
  let older = new Map<string, Bucket>()
  const bucketOf = (key: string, at: number): Bucket => {
    const known = younger.get(key)
    if (known !== undefined) return known
    const bucket = older.get(key) ?? { left: burst, at }
    if (younger.size >= generation_keys_max) [younger, older] = [new Map(), younger]
    younger.set(key, bucket)
    return bucket
  }
  return {
    take: (key) => {
      const at = now()
      const bucket = bucketOf(key, at)
      bucket.left = Math.min(burst, bucket.left + ((at - bucket.at) / 1000) * per_second)
      bucket.at = at
      if (bucket.left < 1) return Math.max(1, Math.ceil((1 - bucket.left) / per_second))
      bucket.left -= 1
      return 0
    },
  }
}

export type RateLimits = {
  /** One verified caller. */
  caller: RateLimit
  /** Everything from one address, verified or not: many callers may share one. */
  address: RateLimit
  /** Requests from one address without a valid credential: they have no reason to be many. */
  stranger: RateLimit
}

/** per_second: what one caller may send for long; the others follow from it. 0: no limits. */
export function newRateLimits(per_second: number, now?: () => number): RateLimits | undefined {
  if (per_second === 0) return undefined
  return {
    caller: newRateLimit({ per_second, burst: per_second * 5 }, now),
    address: newRateLimit({ per_second: per_second * 10, burst: per_second * 50 }, now),
    stranger: newRateLimit({ per_second: per_second / 10, burst: per_second }, now),
  }
}

/** A client with one IPv6 address has the whole /64 of it. */
export function addressKey(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address
  const [head = '', tail] = address.split('::')
  const first = head.split(':').filter((group) => group !== '')
  const last = (tail ?? '').split(':').filter((group) => group !== '')
  const zeros = tail === undefined ? 0 : 8 - first.length - last.length
  return [...first, ...Array<string>(zeros).fill('0'), ...last].slice(0, 4).join(':')
}
