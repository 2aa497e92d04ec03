// The rules of personal access tokens, pure: a token never carries more than its maker, nor lives longer.
import { type Role, roleAllows } from '#contract/endpoint.ts'
import { Fault } from '#contract/fault.ts'
import type { Problem } from '#contract/problem.ts'
import type { Token } from '#contract/token.ts'
import type { Caller } from '../http/handler.ts'
import { endProblem } from '../moment.ts'

export const tokens_per_project_max = 1000

/** The role that a new token gets for itself; null: always its issuer's. own: the caller's role. */
export function newTokenRole(requested: Role | undefined, own: Role, caller: Caller): Role | null {
  if (requested === undefined) return caller.type === 'apiKey' ? caller.role_limit : null
  if (roleAllows(own, requested)) return requested
  throw new Fault('FORBIDDEN', `your role in this project is ${own}; a token that you make carries at most that role`)
}

/** When a new token ends; null: never. A token that a token makes ends with that at the latest. */
export function parseTokenExpiry(requested: string | undefined, caller: Caller, now: Date, problems: Problem[]) {
  const latest = caller.type === 'apiKey' ? caller.expires_at : null
  if (requested === undefined) return latest
  const expires_at = new Date(requested)
  const is_too_late = latest !== null && expires_at > latest
  const too_late = is_too_late && `must not be later than the calling token’s own end, ${latest.toISOString()}`
  const message = endProblem(expires_at, now) ?? too_late
  if (message) problems.push({ path: '/expires_at', message })
  return expires_at
}

export function tokenView(caller: Extract<Caller, { type: 'apiKey' }>, last_used_at: Date | null): Token {
  return {
    public_key: caller.public_key,
    name: caller.name,
    role: caller.role,
    issuing_user: caller.user,
    created: caller.created.toISOString(),
    ...(caller.expires_at && { expires_at: caller.expires_at.toISOString() }),
    ...(last_used_at && { last_used_at: last_used_at.toISOString() }),
  }
}
