// Who is calling, and what they may do where. Each kind of credential has a verifier; the first that knows a credential
// decides. A verified caller is believed for three seconds (see trust.ts), and dropped at once by forget(), which every
// change of tokens, members or projects calls after the commit.
import { hash } from 'node:crypto'
import type { Role } from '#contract/endpoint.ts'
import type { Db } from '../store/db.ts'
import type { Caller, Callers } from '../http/handler.ts'
import { id_form } from '../id.ts'
import { findMembership, saveMemberUse } from './store.ts'
import { type Found, newTrust } from './trust.ts'

/** Undefined for what is not a valid credential of its kind; what is wrong with it is never said. */
export type Verifier = (authorization: string) => Promise<Found<Caller> | undefined>

export function newCallers(db: Db, verifiers: readonly Verifier[]): Callers {
  const credentials = newTrust<Caller>()
  const roles = newTrust<Role>()

  const verify = async (authorization: string): Promise<Found<Caller> | undefined> => {
    for (const verifier of verifiers) {
      const found = await verifier(authorization)
      if (found !== undefined) return found
    }
    return undefined
  }

  return {
    identify: async (authorization) => {
      if (authorization === undefined) return undefined
      // Keyed by a hash, so that a dump of memory shows fewer secrets.
      return credentials.ask(hash('sha256', authorization, 'base64'), () => verify(authorization))
    },
    roleIn: async (caller, project_id) => {
      if (caller.type === 'apiKey') return caller.project.id === project_id ? caller.role : undefined
      if (!id_form.test(project_id)) return undefined
      const user_id = Number(caller.user.id)
      return roles.ask(`${user_id} ${project_id}`, async () => {
        const found = await findMembership(db, project_id, user_id)
        if (found?.used_at === null) await saveMemberUse(db, project_id, user_id)
        return found && { value: found.role }
      })
    },
    forget: () => {
      credentials.forget()
      roles.forget()
    },
  }
}
