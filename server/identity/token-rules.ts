// The rules of personal access tokens, pure: a token never carries more than its maker, nor lives longer.
import { type Role, roleAllows } from '#contract/endpoint.ts'
import { Fault } from '#contract/fault.ts'
import { invalidRequest, type Problem } from '#contract/problem.ts'
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
export function newTokenExpiry(requested: string | undefined, caller: Caller, now: Date): Date | null {
  const problems = expiryProblems(requested, caller, now)
  if (problems.length > 0) throw invalidRequest(problems)
  return requested === undefined ? latestOf(caller) : new Date(requested)
}

export function expiryProblems(requested: string | undefined, caller: Caller, now: Date): Problem[] {
  if (requested === undefined) return []
  const expires_at = new Date(requested)
  const problem = endProblem(expires_at, now)
  if (problem !== undefined) return [{ path: '/expires_at', message: problem }]
  const latest = latestOf(caller)
  if (latest === null || expires_at <= latest) return []
  const message = `must not be later than the calling token’s own end, ${latest.toISOString()}`
  return [{ path: '/expires_at', message }]
}

const latestOf = (caller: Caller) => (caller.type === 'apiKey' ? caller.expires_at : null)

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
