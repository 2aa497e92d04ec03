// What a role permits, under the lock. Admission believes a role for three seconds; a request that changes members or tokens, or deletes
// the project, reads it again inside the transaction: a revoked token or a removed member cannot use those seconds on another server
// to get in again.
import type { Role } from '#contract/endpoint.ts'
import { notFound, unknown_project } from '#contract/fault.ts'
import type { Sql } from '../store/db.ts'
import { requireRole, unauthorized } from '../http/admission.ts'
import type { Caller } from '../http/handler.ts'
import { findCaller, findRole, lockProject } from './store.ts'
import { callerOf } from './token.ts'

/** One change of a project's members and tokens at a time. Returns the caller's role as it is now. */
export async function lockProjectFor(tx: Sql, project_id: string, caller: Caller, needed: Role): Promise<Role> {
  if (!(await lockProject(tx, project_id))) throw notFound(unknown_project)
  if (caller.type === 'oauth') return requireRole(await findRole(tx, project_id, Number(caller.user.id)), needed)
  const row = await findCaller(tx, caller.public_key)
  if (row === undefined) throw unauthorized()
  return requireRole(callerOf(row).role, needed)
}
