// howdah preview up | down: a fork for each pull request, known by its name and its parent. No state is kept but the fork itself.
// 1. Two runs at once make one fork: both send the same Idempotency-Key and body. 2. The password is derived from the secret of the
//    token, so a later run knows it without any file. 3. Only a fork is ever deleted, and a name that another service has is no key.
import { createHmac } from 'node:crypto'
import { type Connection, connectionLine, connectionOf } from '#contract/connection.ts'
import { parseDuration } from '#contract/duration.ts'
import { Fault } from '#contract/fault.ts'
import { settle } from '#contract/follow.ts'
import { api } from '#contract/api.ts'
import type { Service } from '#contract/service.ts'
import { CommandError, type Input, UsageError } from '../command.ts'
import { ensureCa } from './ca.ts'
import { type Context, formatOf, projectOf } from './context.ts'
import { forkBody } from './extras.ts'
import { idOf, namesNothing } from './ids.ts'
import { printAnswer } from './output.ts'
import { newPassword } from './password.ts'
import { findPassword, savePassword } from './pgpass.ts'
import type { Session } from './session.ts'

type PreviewWanted = {
  key: string
  project_id: string
  parent_id: string
  /** The strategy, the moment, and the size. */
  body: Record<string, unknown>
  has_pooler: boolean
  expires_ms: number
  is_reset: boolean
  /** Where the certificate is written. */
  ca_path: string | undefined
}

export type Preview = {
  service_id: string
  /** Whether this run made it. */
  created: boolean
  expires_at: string
  host: string
  port: number
  database: string
  user: string
  password: string
  url: string
  pooled_url: string | undefined
  ca_path: string
}

type Place = { project_id: string; service_id: string }

const expires_default = '7d'
const day_ms = 86_400_000
/** Of one key within the day for which the server remembers it. */
const generations_max = 100

export async function runPreviewUp(context: Context): Promise<void> {
  const { input, terminal } = context
  const session = await context.session()
  const project_id = await projectOf(context, session)
  const wanted = await wantedOf(session, project_id, input)
  const preview = await ensurePreview(session, wanted, (line) => terminal.say(line))
  const format = formatOf(context, session)
  if (format === 'table') terminal.print(preview.url.replace(/:[^:@/]+@/, '@'))
  else printAnswer(terminal, preview, { format, columns: [], is_read: true })
}

export async function runPreviewDown(context: Context): Promise<void> {
  const { input, terminal } = context
  const session = await context.session()
  const project_id = await projectOf(context, session)
  const parent = input.text('service')
  const parent_id = parent === undefined ? undefined : await parentOf(session, project_id, parent)
  const count = await removePreview(session, project_id, keyIn(input), parent_id)
  const many = count > 1 ? `${count} previews are deleted.` : 'The preview is deleted.'
  terminal.say(count === 0 ? 'There is no such preview any more.' : many)
}

export async function wantedOf(session: Session, project_id: string, input: Input): Promise<PreviewWanted> {
  const expires = input.text('expires') ?? expires_default
  const expires_ms = parseDuration(expires)
  if (expires_ms === undefined) throw new UsageError(`${JSON.stringify(expires)} is no duration, such as 7d or 12h`)
  const cpu = input.text('cpu')
  return {
    key: keyIn(input),
    project_id,
    parent_id: await parentOf(session, project_id, input.need('service')),
    body: forkBody(input, cpu === undefined ? {} : { cpu_millis: cpu }),
    has_pooler: input.isSet('pooler'),
    expires_ms,
    is_reset: input.isSet('reset'),
    ca_path: input.text('ca'),
  }
}

/** As the name of the fork has it. */
function keyIn(input: Input): string {
  return input.need('key').trim()
}

const parentOf = ({ client }: Session, project_id: string, word: string): Promise<string> =>
  idOf(client, 'service_id', word, { project_id })

export async function ensurePreview(
  session: Session,
  wanted: PreviewWanted,
  say: (line: string) => void,
): Promise<Preview> {
  const { client } = session
  const { project_id, parent_id, key, expires_ms } = wanted
  if (wanted.is_reset && (await removePreview(session, project_id, key, parent_id)) > 0) say(`${key}: removed`)
  const found = await findPreview(session, wanted)
  const { service_id, initial_password } = found ?? (await forkOnce(session, wanted))
  const place = { project_id, service_id }
  const service = await untilServing(client, place)
  say(`${key}: ${found === undefined ? 'forked' : 'found'}, ${service.status}`)
  const expires_at = new Date(Date.now() + expires_ms).toISOString()
  await client.setExpiry({ ...place, body: { expires_at } })
  if (wanted.has_pooler && service.connection_pooler === undefined) await client.enablePooler(place)
  const latest = wanted.has_pooler ? await client.getService(place) : service
  const password = await ensurePassword(session, latest, initial_password)
  const ca = await ensureCa(session, wanted.ca_path)
  return { ...viewOf(latest, password, ca), created: found === undefined, expires_at }
}

/** How many there were. Returns when they are removed: then a fork of the same name can be made. */
async function removePreview(
  session: Session,
  project_id: string,
  key: string,
  parent_id: string | undefined,
): Promise<number> {
  return await remove(session, await forksNamed(session, project_id, key, parent_id))
}

/** The parent may be removed before the pull request is closed. Then its previews are those of that name whose parent is removed. */
export async function closePreview(session: Session, project_id: string, input: Input): Promise<number> {
  const parent_id = await parentOf(session, project_id, input.need('service')).catch(ignoreNotFound)
  const forks = await forksNamed(session, project_id, keyIn(input), parent_id)
  if (parent_id !== undefined) return await remove(session, forks)
  const orphans: Service[] = []
  for (const fork of forks) {
    const parent = fork.forked_from && (await session.client.getService(fork.forked_from).catch(ignoreNotFound))
    if (parent === undefined) orphans.push(fork)
  }
  return await remove(session, orphans)
}

async function forksNamed({ client }: Session, project_id: string, key: string, parent_id: string | undefined) {
  const query = { name: key, ...(parent_id !== undefined && { forked_from: parent_id }) }
  const named = await client.listServices({ project_id, query })
  const forks = named.filter(isFork)
  if (forks.length === 0 && named.length > 0) throw new CommandError(`${noForkNamed(key)}; it stays`)
  return forks
}

function isFork({ forked_from }: Service): boolean {
  return forked_from !== undefined && !forked_from.is_standby
}

const noForkNamed = (key: string): string => `${JSON.stringify(key)} is the name of a service that is no fork`

async function remove({ client }: Session, forks: readonly Service[]): Promise<number> {
  for (const { project_id, service_id } of forks) {
    const place = { project_id, service_id }
    await client.deleteService(place).catch(ignoreNotFound)
    await settle(client, api.deleteService, place, {})
  }
  return forks.length
}

async function findPreview(
  { client }: Session,
  { project_id, key, parent_id }: PreviewWanted,
): Promise<Service | undefined> {
  const named = await client.listServices({ project_id, query: { name: key, forked_from: parent_id } })
  return named.find(({ status }) => status !== 'DELETING')
}

/** Of a fork that was deleted since, the key is used up for a day: the next generation has another one. */
async function forkOnce(session: Session, wanted: PreviewWanted): Promise<Service> {
  const { project_id, parent_id, key, expires_ms } = wanted
  const named = await session.client.listServices({ project_id, query: { name: key } })
  if (!named.every(isFork)) throw new CommandError(`${noForkNamed(key)}; choose another --key`)
  const secret = secretOf(await session.token()) ?? ''
  // The same for two runs at once, because a key belongs to one body; renewed right after.
  const next_day = Math.ceil(Date.now() / day_ms) * day_ms
  const body = { ...wanted.body, name: key, expires_at: new Date(next_day + expires_ms).toISOString() }
  for (let generation = 0; generation < generations_max; generation += 1) {
    const idempotency_key = hmac(secret, ['fork', project_id, parent_id, key, String(generation)])
    try {
      // forkBody has set the strategy.
      const input = { project_id, service_id: parent_id, body: body as never, idempotency_key }
      return await session.client.forkService(input)
    } catch (error) {
      if (!(error instanceof Fault) || error.code !== 'CONFLICT') throw error
      const found = await findPreview(session, wanted)
      if (found !== undefined) return found
    }
  }
  throw new CommandError(`${key}: forked anew ${generations_max} times within a day; choose another --key`)
}

async function untilServing(client: Session['client'], place: Place): Promise<Service> {
  const seen = await settle(client, api.startService, place, {})
  if (seen === undefined || !('service_id' in seen)) throw new CommandError('the preview was removed meanwhile')
  if (seen.status !== 'PAUSED') return seen
  await client.startService(place)
  return await untilServing(client, place)
}

/** By the token's secret; of a user's login, whose tokens change, by the file of passwords. */
async function ensurePassword(session: Session, service: Service, told: string | undefined): Promise<string> {
  const { project_id, service_id } = service
  const secret = secretOf(await session.token())
  const login = connectionIn(service)
  const known = secret === undefined ? (told ?? (await findPassword(login))) : undefined
  const password = known ?? (secret === undefined ? newPassword() : hmac(secret, ['password', project_id, service_id]))
  if (known === undefined) {
    await session.client.updatePassword({ project_id, service_id, body: { password } })
  }
  await savePassword(login, password)
  return password
}

function viewOf(service: Service, password: string, ca: string): Omit<Preview, 'created' | 'expires_at'> {
  const login = connectionIn(service)
  const pooled = connectionOf(service, { pooled: 'session' })
  return {
    service_id: service.service_id,
    ...login,
    password,
    url: connectionLine(login, 'uri', { password, ca }),
    pooled_url: pooled && connectionLine(pooled, 'uri', { password, ca }),
    ca_path: ca,
  }
}

function connectionIn(service: Service): Connection {
  const connection = connectionOf(service)
  if (connection === undefined) throw new CommandError('the preview has no endpoint')
  return connection
}

/** Of a personal access token. */
function secretOf(token: string): string | undefined {
  return /^[A-Z0-9]{10,32}\.(.+)$/.exec(token)?.[1]
}

/** No text of one list is the text of another list. */
function hmac(secret: string, words: readonly string[]): string {
  return createHmac('sha256', secret)
    .update(JSON.stringify(['howdah preview', ...words]))
    .digest('base64url')
    .slice(0, 32)
}

function ignoreNotFound(error: unknown): undefined {
  if (!namesNothing(error)) throw error
}
