// What a first start writes into an empty metadata store: a user, a project, and a token to begin with;
// and which installation a region is. Exactly once, also when several servers start at once.
import { userInfo } from 'node:os'
import type { Db, Sql } from './store/db.ts'
import { sql } from './store/sql.ts'
import { newId } from './id.ts'
import { insertUser } from './identity/store.ts'
import { createToken } from './identity/token.ts'
import { insertMember } from './member/store.ts'
import { createPasswordLink } from './oauth/accounts.ts'
import { insertProject, listProjects } from './project/store.ts'

export type Registration = {
  /** `<public_key>.<secret_key>`, from the very first start only: it exists nowhere else. */
  first_token: string | undefined
  /** Path and query of a page on which the first user chooses a password, once, and their e-mail; from the very first start only. */
  password_link: string | undefined
  first_email: string | undefined
  /** The oldest project, for the examples that are shown to people. */
  project_id: string | undefined
}

/** Another installation is this region already; the message is for the operator. */
export class RegionTaken extends Error {
  override readonly name = 'RegionTaken'
}

// Any fixed number: it only has to be the same for all servers and used for nothing else.
const registration_lock = 4_873_102

/** `email`: of the first user. */
export function ensureRegistration(db: Db, email: string): Promise<Registration> {
  return db.transaction(async (tx) => {
    await tx.query(sql`select pg_advisory_xact_lock(${registration_lock})`)
    const made = (await someUserExists(tx)) ? undefined : await register(tx, email)
    const [project] = await listProjects(tx)
    return {
      first_token: made?.token,
      password_link: made?.password_link,
      first_email: made && email,
      project_id: project?.id,
    }
  })
}

export async function ensureRegion(db: Db, region_code: string, installation_id: string): Promise<void> {
  const owner = await db.transaction(async (tx) => {
    await insertRegion(tx, region_code, installation_id)
    return getRegionOwner(tx, region_code)
  })
  if (owner === installation_id) return
  throw new RegionTaken(
    `the region ${region_code} of this metadata store belongs to another data directory (installation ${owner}, and this is ${installation_id}); start with that data directory, or give this machine a name of its own with --region`,
  )
}

async function register(tx: Sql, email: string): Promise<{ token: string; password_link: string }> {
  const user = await insertUser(tx, { email, name: userName() })
  const project = await insertProject(tx, { id: newId(), name: 'default' })
  await insertMember(tx, { project_id: project.id, user_id: user.id, role: 'owner' })
  const token = { name: 'first token', project_id: project.id, user_id: user.id }
  const { public_key, secret_key } = await createToken(tx, token)
  return { token: `${public_key}.${secret_key}`, password_link: await createPasswordLink(tx, user.id) }
}

function userName(): string {
  try {
    return userInfo().username
  } catch {
    return 'admin' // A user id without a name, as in some containers.
  }
}

async function someUserExists(tx: Sql): Promise<boolean> {
  const [row] = await tx.query(sql<{ found: boolean }>`select exists (select from users) as found`)
  return row?.found === true
}

async function insertRegion(tx: Sql, region_code: string, installation_id: string): Promise<void> {
  await tx.query(sql`
    insert into regions (region_code, installation_id) values (${region_code}, ${installation_id})
    on conflict (region_code) do nothing`)
}

async function getRegionOwner(tx: Sql, region_code: string): Promise<string | undefined> {
  const [row] = await tx.query(sql<{ installation_id: string }>`
    select installation_id from regions where region_code = ${region_code}`)
  return row?.installation_id
}
