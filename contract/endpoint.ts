// What an endpoint is: a row of data. Routing, validation, the OpenAPI document, the typed client and the command line
// are all derived from such rows (see api.ts), so a path, a role or a success code is written exactly once.
import type { Static, TSchema } from 'typebox'
import type { FaultCode } from './fault.ts'
import type { Acceptable } from './service-status.ts'

export const roles = ['viewer', 'developer', 'admin', 'owner'] as const
export type Role = (typeof roles)[number]

/**
 * Who may call: every client, every valid credential, a person who has logged in (no token that is scoped to a project), or a
 * member of the project in the path with at least this role.
 */
export type Access = 'public' | 'caller' | 'user' | Role

/** What a call does to what there is: MCP annotations, read-only modes and confirmations follow from it. */
export type Effect = 'read' | 'add' | 'change' | 'remove'

/**
 * What to wait for after a 202: the service in the answer, or else in the path, is at rest; the replica set likewise is
 * active; the snapshot in the answer is complete; what the path names is 404, and in no list.
 */
export type Follows = 'service' | 'replica_set' | 'snapshot' | 'gone'

export type Endpoint = {
  method: 'GET' | 'POST' | 'DELETE'
  path: string
  summary: string
  description?: string
  tag: string
  access: Access
  /** Written where the method tells it wrongly: see effectOf. */
  effect?: Effect
  /** Open connections end, or logins that worked do not any more. */
  interrupts?: true
  follows?: Follows
  /** With `Accept: text/event-stream` the list goes on as server-sent events: see EntryOf. */
  streams?: true
  /** Statuses of the service in the path that accept this; absent where the status does not matter. */
  accepts?: readonly Acceptable[]
  /** A repeated request with the same Idempotency-Key answers like the first one. */
  idempotent?: true
  /**
   * With `Prefer: wait=<seconds>` the answer comes when nothing is under way any more, or when there are entries after `after`, or
   * after that time (RFC 7240).
   */
  waits?: 'at rest' | 'entries'
  /** With `limit` the list is cut: the header X-Next-Cursor, and Link, lead to the rest. */
  pages?: true
  query?: TSchema
  body?: TSchema
  /** The body may be left out altogether, which is like an empty object. */
  body_optional?: true
  /** Errors beside those that follow from the other members of the row. */
  faults?: readonly FaultCode[]
  success: 200 | 201 | 202 | 204
  output?: TSchema
  /** Of an answer that is text and no JSON. */
  output_type?: 'application/x-pem-file'
}

/** Proxies and clients lose their patience after a minute. */
export const wait_seconds_max = 50

export const stream_type = 'text/event-stream'

export const next_cursor_header = 'X-Next-Cursor'

/** Keeps the literal types of one row. */
export function endpoint<const E extends Endpoint>(row: E): E {
  return row
}

export type PathParams<Path extends string> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? { [K in Name]: string } & PathParams<Rest>
  : unknown

type StaticOf<S> = S extends TSchema ? Static<S> : undefined

export type ParamsOf<E extends Endpoint> = PathParams<E['path']>
export type BodyOf<E extends Endpoint> = StaticOf<E['body']>
export type QueryOf<E extends Endpoint> = StaticOf<E['query']>
export type OutputOf<E extends Endpoint> = E['output'] extends TSchema ? Static<E['output']> : void

/** What a stream of the endpoint is made of: the items of its list, which is the answer itself or its `entries`. */
export type EntryOf<E extends Endpoint> =
  OutputOf<E> extends readonly (infer Item)[]
    ? Item
    : OutputOf<E> extends { entries?: readonly (infer Item)[] }
      ? Item
      : never

export function roleAllows(role: Role, needed: Role): boolean {
  return roles.indexOf(role) >= roles.indexOf(needed)
}

export function lowerRole(one: Role, other: Role): Role {
  return roleAllows(one, other) ? other : one
}

export function isRole(access: Access): access is Role {
  return roles.some((role) => role === access)
}
