// howdah service psql | connection-string | reset-password | wait: what people do with a service beside changing it.
import { spawnSync } from 'node:child_process'
import {
  type Connection,
  connection_formats,
  connectionEnvironment,
  type ConnectionFormat,
  connectionLine,
  connectionOf,
} from '#contract/connection.ts'
import { api } from '#contract/api.ts'
import type { Service } from '#contract/service.ts'
import { isAtRest, type Seen } from '#contract/wait.ts'
import { CommandError, exit_codes } from '../command.ts'
import { runInForeground } from '../foreground.ts'
import { ensureCa } from './ca.ts'
import { confirm } from './terminal.ts'
import { type Context, formatOf, projectOf, serviceWord } from './context.ts'
import { service_columns } from './extras.ts'
import { idNamed, namesNothing, withIds } from './ids.ts'
import { printAnswer } from './output.ts'
import { newPassword, storePassword } from './password.ts'
import { findPassword, pgpassFile } from './pgpass.ts'
import type { Session } from './session.ts'
import { timeoutOf, unlessHealing, waitUntil } from './waiting.ts'

const psql_remedy = 'apt-get install postgresql-client installs it'
/** What psql ends with when it had no connection or lost it. */
const psql_no_connection = 2

/** Debian's psql is a script that may be there without any version of the client. */
function isBrokenWrapper(): boolean {
  return spawnSync('psql', ['--version'], { stdio: 'ignore' }).status !== 0
}

export async function runPsql(context: Context): Promise<number> {
  const { input, terminal } = context
  const session = await context.session()
  const service = await serviceOf(context, session)
  const connection = await chosenConnection(context, session, service)
  const direct = connectionOf(service) ?? connection
  const password = await findPassword(direct)
  if (password === undefined)
    terminal.say(
      `The password of ${service.name} is not in ${pgpassFile()}; psql asks for it. howdah service reset-password sets a new one.`,
    )
  if (service.vpc_endpoint !== undefined) {
    const { vpc_id } = service.vpc_endpoint
    terminal.say(`${service.name} is in the VPC ${vpc_id}: howdah admin vpc exec ${vpc_id} -- psql … reaches it.`)
  }
  const { PGSERVICE: _, PGHOSTADDR: __, ...others } = process.env
  const env = {
    ...others,
    ...connectionEnvironment(connection, { password, ca: await ensureCa(session) }),
    ...(input.isSet('read-only') && { PGOPTIONS: '-c default_transaction_read_only=on' }),
  }
  const missing = `psql is not installed; ${psql_remedy}`
  const exit_code = await runInForeground(['psql', ...input.rest], { env, missing })
  if (exit_code !== 0 && isBrokenWrapper()) throw new CommandError(`psql has no client to run; ${psql_remedy}`)
  if (exit_code === psql_no_connection && service.status === 'PAUSED') {
    terminal.say(`${service.name} is PAUSED; howdah service start ${service.service_id} starts it`)
  }
  if (exit_code === psql_no_connection && input.isSet('read-only') && input.isSet('pooled')) {
    terminal.say(
      `--read-only: a connection pooler before PgBouncer 1.20 takes no options of a session; without --pooled psql goes to ${direct.host}:${direct.port}`,
    )
  }
  return exit_code
}

export async function runConnectionString(context: Context): Promise<void> {
  const { input, terminal } = context
  const session = await context.session()
  const service = await serviceOf(context, session)
  const connection = await chosenConnection(context, session, service)
  const password = input.isSet('with-password') ? await findPassword(connectionOf(service) ?? connection) : undefined
  if (input.isSet('with-password') && password === undefined) {
    throw new CommandError(
      `the password of ${service.name} is not in ${pgpassFile()}; howdah service reset-password sets a new one`,
    )
  }
  const ca = input.text('ca') ?? (await ensureCa(session))
  const format: ConnectionFormat = connection_formats.find((one) => one === input.text('format')) ?? 'uri'
  terminal.print(connectionLine(connection, format, { ca, password }))
}

export async function runResetPassword(context: Context): Promise<void> {
  const { input, terminal } = context
  const session = await context.session()
  const service = await serviceOf(context, session)
  const question = `Set a new password of ${service.name}: logins with the one until now fail from then on.`
  if (service.metadata.environment === 'PROD') await confirm(terminal, input, `${question} It is PROD. Go on?`)
  const password = newPassword()
  await session.client.updatePassword({ ...placeOf(service), body: { password } })
  const connection = connectionOf(service)
  const is_kept = connection !== undefined && (await storePassword(context, session, connection, password))
  terminal.print(password)
  if (is_kept) terminal.say(`It is in ${pgpassFile()} too.`)
}

const wanted_statuses = { ready: 'READY', paused: 'PAUSED' } as const

export async function runWait(context: Context): Promise<number> {
  const { input, terminal } = context
  const session = await context.session()
  const wanted = input.text('for') ?? 'at-rest'
  const service = await serviceOf(context, session).catch((error: unknown) => {
    if (wanted === 'gone' && namesNothing(error)) return undefined
    throw error
  })
  if (service === undefined) return exit_codes.done
  const isOver = (seen: Seen) => isAtRest(wanted === 'gone' ? api.deleteService : api.startService, seen)
  const seen = await waitUntil(context, session, placeOf(service), unlessHealing(isOver), timeoutOf(input, '10m'))
  const format = formatOf(context, session)
  if (format !== 'table' && seen !== undefined)
    printAnswer(terminal, seen, { format, columns: service_columns, is_read: true })
  if (wanted === 'gone') return exit_codes.done
  const status = wanted === 'ready' || wanted === 'paused' ? wanted_statuses[wanted] : undefined
  const is_good = status === undefined ? seen?.status !== 'UNSTABLE' && seen !== undefined : seen?.status === status
  return is_good ? exit_codes.done : exit_codes.not_as_wanted
}

export async function serviceOf(context: Context, session: Session): Promise<Service> {
  const words = new Map([
    ['project_id', await projectOf(context, session)],
    ['service_id', serviceWord(context, session)],
  ] as const)
  return withIds(session.client, words, ({ project_id = '', service_id = '' }) =>
    session.client.getService({ project_id, service_id }),
  )
}

export function placeOf({ project_id, service_id }: Service): { project_id: string; service_id: string } {
  return { project_id, service_id }
}

async function chosenConnection({ input }: Context, { client }: Session, service: Service): Promise<Connection> {
  const set = input.text('replica')
  const { project_id, service_id, name } = service
  const replica_set_id = set && (await idNamed(client, 'replica_set_id', set, { project_id, service_id }))
  const pooled = input.isSet('pooled')
    ? input.text('pooled') === 'transaction'
      ? 'transaction'
      : 'session'
    : undefined
  const connection = connectionOf(service, { pooled, replica_set_id })
  if (connection !== undefined) return connection
  const verb = set === undefined ? `service enable-pooler ${name}` : `replica-set enable-pooler ${name} ${set}`
  throw new CommandError(`${set ?? name} has no connection pooler; howdah ${verb} makes one`)
}
