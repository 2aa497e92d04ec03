// Callers of every kind for tests: users, members and tokens written straight into the installation's store, and people
// who have logged in, whose credential is read by a verifier that stands in for an authorization server's.
import type { Role } from '#contract/endpoint.ts'
import type { Db } from '#server/store/db.ts'
import { newId } from '#server/id.ts'
import type { Verifier } from '#server/identity/callers.ts'
import { insertUser } from '#server/identity/store.ts'
import { createToken } from '#server/identity/token.ts'
import { insertMember } from '#server/member/store.ts'
import { insertProject } from '#server/project/store.ts'
import { type Call, newCall } from '../call.ts'
import { openStoreOf } from '../database.ts'
import type { TestInstallation } from '../installation.ts'

export type TestToken = {
  token: string
  public_key: string
  secret_key: string
  user_id: number
  email: string
  project_id: string
}

export type Callers = {
  db: Db
  newProject(): Promise<string>
  /** A new user with this role in the project (the first one if none is named), and a token of theirs. */
  newToken(role: Role, more?: { project_id?: string; expires_at?: Date; token_role?: Role }): Promise<TestToken>
  callWith(token: string): Call
  close(): Promise<void>
}

/** What a person sends who has logged in. It is no token of ours, so only userVerifier knows it. */
export const userCredential = ({ user_id }: Pick<TestToken, 'user_id'>) => `user-${user_id}`

export const userVerifier: Verifier = async (authorization) => {
  const id = /^Bearer user-(\d+)$/.exec(authorization)?.[1]
  return id === undefined ? undefined : { value: { type: 'oauth', user: { id, email: `${id}@login`, name: 'a user' } } }
}

export async function openCallers(installation: TestInstallation): Promise<Callers> {
  const { project_id, server } = installation
  const db = openStoreOf(installation)
  return {
    db,
    close: () => db.close(),
    callWith: (token) => newCall(server.api_url, token),
    newProject: async () => (await insertProject(db, { id: newId(), name: 'another project' })).id,
    newToken: (role, more = {}) =>
      db.transaction(async (tx) => {
        const at = { project_id: more.project_id ?? project_id }
        const email = `${newId()}@example.com`
        const { id: user_id } = await insertUser(tx, { email, name: `a ${role}` })
        await insertMember(tx, { ...at, user_id, role })
        const { expires_at = null, token_role = null } = more
        const token = { ...at, user_id, name: `token of a ${role}`, expires_at, role: token_role }
        const pair = await createToken(tx, token)
        return { ...pair, ...at, user_id, email, token: `${pair.public_key}.${pair.secret_key}` }
      }),
  }
}
