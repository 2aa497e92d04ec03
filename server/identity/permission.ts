// What a role permits, at the door and under the lock. The door believes what is at most three seconds old; whoever
// changes members or tokens, or deletes the project, asks again inside the transaction: a revoked token or a removed
// member cannot use those seconds on another server to let themselves in again.
import { type Role, roleAllows } from '#contract/endpoint.ts'
import { Fault, notFound, unknown_project } from '#contract/fault.ts'
import type { Sql } from '../store/db.ts'
import type { Caller } from '../http/handler.ts'
import { findRole } from '../member/store.ts'
import { lockProject } from '../project/store.ts'
import { findCaller } from './store.ts'
import { callerOf } from './token.ts'

/** Refuses unless the role permits what is needed. No role: the project does not exist for the caller. */
export function requireRole(role: Role | undefined, needed: Role): Role {
  if (role === undefined) throw notFound(unknown_project)
  if (roleAllows(role, needed)) return role
  throw new Fault('FORBIDDEN', `your role in this project is ${role}; this needs at least ${needed}`)
}

/** One change of a project's members and tokens at a time. Returns the caller's role as it is now. */
export async function lockProjectFor(tx: Sql, project_id: string, caller: Caller, needed: Role): Promise<Role> {
  if ((await lockProject(tx, project_id)) === undefined) throw notFound(unknown_project)
  if (caller.type === 'oauth') return requireRole(await findRole(tx, project_id, Number(caller.user.id)), needed)
  const row = await findCaller(tx, caller.public_key)
  if (row === undefined) throw unauthorized()
  return requireRole(callerOf(row).role, needed)
}

export const unauthorized = (): Fault =>
  new Fault('UNAUTHORIZED', 'send a valid token in the header Authorization: Bearer <public_key>.<secret_key>')
