// When a service ends by itself, pure: which moments are taken, and what is due at a moment.
import type { Problem } from '#contract/problem.ts'
import { endProblem, parseMoment } from '../moment.ts'
import type { ServiceRow } from './store.ts'

/** How long before the end its owners are warned. */
const warnings_ms = [3_600_000, 600_000]

/** No warning comes earlier, so what ends later needs no look. */
export const first_warning_ms = Math.max(...warnings_ms)

/** Null: never. environment: of a service that is being made; the others are protected, or not, by their row. */
export function parseExpiry(
  requested: string | null | undefined,
  now: Date,
  problems: Problem[],
  environment?: ServiceRow['environment'],
): Date | null {
  if (requested === undefined || requested === null) return null
  if (environment === 'PROD') {
    const message = 'does not go with /environment_tag PROD: such a service is protected, and does not expire'
    problems.push({ path: '/expires_at', message })
  }
  const expires_at = new Date(parseMoment(requested))
  const message = endProblem(expires_at, now)
  if (message === undefined) return expires_at
  problems.push({ path: '/expires_at', message })
  return null
}

type Expiring = Pick<ServiceRow, 'expires_at' | 'expiry_told_at'>

/** A warning that came too late to be told apart from a later one is told once, with it. */
export function expiryStep({ expires_at, expiry_told_at }: Expiring, now: Date): 'delete' | 'warn' | undefined {
  if (expires_at === null) return undefined
  if (expires_at <= now) return 'delete'
  const told_ms = expiry_told_at?.getTime() ?? Number.NEGATIVE_INFINITY
  const moments = warnings_ms.map((before_ms) => expires_at.getTime() - before_ms)
  return moments.some((moment) => moment <= now.getTime() && told_ms < moment) ? 'warn' : undefined
}
