// What becomes of a database's password, which the API tells once: it is kept where clients find it, or printed.
import { randomBytes } from 'node:crypto'
import { type Connection, connectionLine, connectionOf } from '#contract/connection.ts'
import type { Service } from '#contract/service.ts'
import { type Context, formatOf } from './context.ts'
import { ensureCa } from './ca.ts'
import { pgpassFile, savePassword } from './pgpass.ts'
import type { Session } from './session.ts'

const password_bytes = 24

/** The connection is the data; all else is for people. */
export async function keepPassword(
  context: Context,
  session: Session,
  made: Service,
  seen: Service | undefined,
): Promise<void> {
  const { terminal } = context
  const connection = connectionOf(seen ?? made)
  const { initial_password } = made
  if (connection === undefined || initial_password === undefined) return
  const is_kept = await storePassword(context, session, connection, initial_password)
  if (formatOf(context, session) !== 'table') return
  if (!is_kept) return terminal.print(initial_password)
  terminal.print(connectionLine(connection, 'uri', { ca: await ensureCa(session) }))
  terminal.say(`The password is in ${pgpassFile()}. To connect: howdah service psql ${wordFor(made)}`)
}

/** False where its user wants to keep it. */
export async function storePassword(
  { input }: Pick<Context, 'input'>,
  { preferred }: Session,
  connection: Connection,
  password: string,
): Promise<boolean> {
  const storage = input.text('password-storage') ?? preferred('password_storage') ?? 'pgpass'
  if (storage === 'none') return false
  await savePassword(connection, password)
  return true
}

/** Letters, digits, - and _: no shell, file or URL gives them another meaning. */
export function newPassword(): string {
  return randomBytes(password_bytes).toString('base64url')
}

function wordFor({ name, service_id }: Service): string {
  return /^[\w.-]+$/.test(name) ? name : service_id
}
