// What becomes of a database's password, which the API tells once: it is kept where clients find it, or printed.
import { randomBytes } from 'node:crypto'
import { messageOf } from '../visible.ts'
import { type Connection, connectionLine, connectionOf } from '#contract/connection.ts'
import type { Service } from '#contract/service.ts'
import { type Context, formatOf } from './context.ts'
import { ensureCa } from './ca.ts'
import type { Answered, Ended, Ids } from './ids.ts'
import { movePassword, pgpassFile, savePassword } from './pgpass.ts'
import type { Session } from './session.ts'

const password_bytes = 24

/** Where clients find it; false where its user wants it printed. */
export async function keepPassword(context: Context, session: Session, made: Service): Promise<boolean> {
  const connection = connectionOf(made)
  const { initial_password } = made
  if (connection === undefined || initial_password === undefined) return true
  return await storePassword(context, session, connection, initial_password)
}

/** The same for a password that its user chose. It is in force: what cannot be read any more only keeps it out of the file. */
export async function keepGivenPassword(context: Context, session: Session, { ids, body }: Answered): Promise<boolean> {
  const { project_id = '', service_id = '' } = ids
  const password: unknown = body?.['password']
  const service = await session.client.getService({ project_id, service_id }).catch(() => undefined)
  const connection = service && connectionOf(service)
  if (connection === undefined || typeof password !== 'string') return false
  return await storePassword(context, session, connection, password)
}

export async function tellGivenPassword({ terminal }: Context, _: Session, { is_kept }: Ended): Promise<void> {
  terminal.say(is_kept ? `The password is in ${pgpassFile()}.` : 'Done.')
}

/** The connection is the data; all else is for people. */
export async function tellPassword(context: Context, session: Session, { made, seen, is_kept }: Ended): Promise<void> {
  const { terminal } = context
  const connection = connectionOf(seen ?? made)
  const { initial_password } = made
  if (connection === undefined || initial_password === undefined) return
  const format = formatOf(context, session)
  if (format !== 'table') {
    if (!is_kept && (format === 'csv' || format === 'name'))
      terminal.say(`The password, told this once: ${initial_password}`)
    return
  }
  if (!is_kept) return terminal.print(initial_password)
  terminal.print(connectionLine(connection, 'uri', { ca: await ensureCa(session) }))
  const way = seen?.status === 'UNSTABLE' ? '' : ` To connect: howdah service psql ${wordFor(made)}`
  terminal.say(`The password is in ${pgpassFile()}.${way}`)
}

/** Into a VPC and out of it: what the file has for the address until now becomes that of the new one. */
export async function followAddress(
  { terminal }: Context,
  { client }: Session,
  { project_id = '', service_id = '' }: Ids,
  send: () => Promise<unknown>,
): Promise<unknown> {
  const address = async () => connectionOf(await client.getService({ project_id, service_id }))
  const before = await address()
  const answer = await send()
  try {
    const after = await address()
    if (before !== undefined && after !== undefined) await movePassword(before, after)
  } catch (error) {
    terminal.say(`The password is not kept for the new address: ${messageOf(error)}`)
  }
  return answer
}

/** False where its user wants to keep it, or the file cannot be written: the caller prints it, because it is told this once. */
export async function storePassword(
  context: Pick<Context, 'input' | 'terminal'>,
  session: Session,
  connection: Connection,
  password: string,
): Promise<boolean> {
  if (!isStored(context, session)) return false
  try {
    await savePassword(connection, password)
    return true
  } catch (error) {
    context.terminal.say(`The password is not kept: ${messageOf(error)}`)
    return false
  }
}

function isStored({ input }: Pick<Context, 'input'>, { preferred }: Session): boolean {
  return (input.text('password-storage') ?? preferred('password_storage') ?? 'pgpass') !== 'none'
}

/** Letters, digits, - and _: no shell, file or URL gives them another meaning. */
export function newPassword(): string {
  return randomBytes(password_bytes).toString('base64url')
}

function wordFor({ name, service_id }: Service): string {
  return /^\w[\w.-]*$/.test(name) ? name : service_id
}
