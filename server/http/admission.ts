// Who gets in. In this order: how much comes from the address (429), the credential (401, or 429 for addresses that keep
// failing), how much the caller sends (429), their project (404), their role (403), the form of the ids (404).
// A project that is not the caller's does not exist for them.
import type { FastifyRequest } from 'fastify'
import { isIP } from 'node:net'
import { type Endpoint, isRole, type Role } from '#contract/endpoint.ts'
import { Fault, notFound, unknown_project } from '#contract/fault.ts'
import { roleRefusal } from '#contract/refusal.ts'
import type { Caller, Callers } from './handler.ts'
import { isPathId, unknownPathId } from './path-id.ts'
import { addressKey, type RateLimit, type RateLimits } from './rate-limit.ts'

declare module 'fastify' {
  interface FastifyRequest {
    caller: Caller | undefined
    /** The caller's role in the project of the path. */
    role: Role | undefined
  }
}

export type Admission = {
  /** Why nothing more is taken from the request's address; undefined while all is well. */
  refusalOfAddress(request: FastifyRequest): Fault | undefined
  /** Throws unless the request has a valid credential, of a caller within its rate. */
  authenticate(request: FastifyRequest): Promise<Caller>
  /** Throws unless this caller may do this here. */
  admit(endpoint: Endpoint, request: FastifyRequest): Promise<void>
  /** Throws when a caller who was admitted may not any more: for answers that take long. Counts towards no rate. */
  readmit(endpoint: Endpoint, request: FastifyRequest): Promise<void>
}

export function newAdmission(callers: Callers, limits: RateLimits | undefined): Admission {
  const authenticate = async (request: FastifyRequest): Promise<Caller> => {
    const caller = await callers.identify(request.headers.authorization)
    if (caller === undefined) {
      throw (limits && refusalOf(limits.stranger, addressKey(addressOf(request)))) ?? unauthorized()
    }
    request.caller = caller
    const refusal = limits && refusalOf(limits.caller, keyOf(caller))
    if (refusal !== undefined) throw refusal
    return caller
  }
  return {
    refusalOfAddress: (request) => limits && refusalOf(limits.address, addressKey(addressOf(request))),
    authenticate,
    admit: async (endpoint, request) => {
      const { access } = endpoint
      if (access === 'public') return
      const caller = await authenticate(request)
      if (access === 'user' && caller.type !== 'oauth') throw notForTokens()
      const params = paramsOf(request)
      if (isRole(access)) {
        request.role = await callers.roleIn(caller, params['project_id'] ?? '')
        requireRole(request.role, access)
      }
      for (const [name, id] of Object.entries(params)) {
        if (!isPathId(name, id)) throw notFound(unknownPathId(name))
      }
    },
    readmit: async ({ access }, request) => {
      const caller = await callers.identify(request.headers.authorization)
      if (caller === undefined) throw unauthorized()
      if (isRole(access)) requireRole(await callers.roleIn(caller, paramsOf(request)['project_id'] ?? ''), access)
    },
  }
}

/** Refuses unless the role permits what is needed. No role: the project does not exist for the caller. */
export function requireRole(role: Role | undefined, needed: Role): Role {
  if (role === undefined) throw notFound(unknown_project)
  const refusal = roleRefusal(role, needed)
  if (refusal !== undefined) throw new Fault('FORBIDDEN', refusal)
  return role
}

export const unauthorized = (): Fault =>
  new Fault('UNAUTHORIZED', 'send a valid token in the header Authorization: Bearer <public_key>.<secret_key>')

/** Where the request comes from, through trusted proxies; what a proxy passes on may be no address at all. */
export function addressOf(request: FastifyRequest): string {
  const { ip } = request
  const { remoteAddress = 'unknown' } = request.socket
  return ip === remoteAddress || isIP(ip) !== 0 ? ip : remoteAddress
}

export function paramsOf(request: FastifyRequest): Record<string, string> {
  // Every value in a path is text; the router adds nothing else.
  return request.params as Record<string, string>
}

/** Of everything that one caller sends. */
export function keyOf(caller: Caller): string {
  return caller.type === 'apiKey' ? caller.public_key : `user ${caller.user.id}`
}

function refusalOf(limit: RateLimit, key: string): Fault | undefined {
  const retry_after_seconds = limit.take(key)
  if (retry_after_seconds === 0) return undefined
  const message = `too many requests; send the next one in ${retry_after_seconds} s, and fewer of them`
  return new Fault('RATE_LIMITED', message, { retry_after_seconds })
}

const notForTokens = (): Fault =>
  new Fault(
    'FORBIDDEN',
    'a personal access token is scoped to one project and cannot do this; log in as a user, or use the howdah command on the server',
  )
