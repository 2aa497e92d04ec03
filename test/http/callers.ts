// Callers of every kind for tests: users, members and tokens written straight into the installation's store, as no
// endpoint makes them yet.
import type { Role } from '#contract/endpoint.ts'
import type { Db } from '#server/db.ts'
import { newId } from '#server/id.ts'
import { insertUser } from '#server/identity/store.ts'
import { createToken } from '#server/identity/token.ts'
import { openInstallation } from '#server/installation.ts'
import { newLog } from '#server/log.ts'
import { insertMember, insertProject } from '#server/project/store.ts'
import { openStore } from '#server/store-access.ts'
import type { TestInstallation } from '../installation.ts'

export type TestToken = { token: string; public_key: string; secret_key: string; user_id: number; project_id: string }

export type Callers = {
  db: Db
  newProject(): Promise<string>
  /** A new user with this role in the project (the first one if none is named), and a token of theirs. */
  newToken(role: Role, more?: { project_id?: string; expires_at?: Date }): Promise<TestToken>
  close(): Promise<void>
}

export async function openCallers({ config, project_id }: TestInstallation): Promise<Callers> {
  const store = await openStore(config, await openInstallation(config.data_dir), newLog('silent'))
  const { db } = store
  return {
    db,
    close: () => store.close(),
    newProject: async () => (await insertProject(db, { id: newId(), name: 'another project' })).id,
    newToken: (role, more = {}) =>
      db.transaction(async (tx) => {
        const at = { project_id: more.project_id ?? project_id }
        const { id: user_id } = await insertUser(tx, { email: `${newId()}@example.com`, name: `a ${role}` })
        await insertMember(tx, { ...at, user_id, role })
        const expiry = more.expires_at === undefined ? {} : { expires_at: more.expires_at }
        const pair = await createToken(tx, { ...at, ...expiry, user_id, name: `token of a ${role}` })
        return { ...pair, ...at, user_id, token: `${pair.public_key}.${pair.secret_key}` }
      }),
  }
}
