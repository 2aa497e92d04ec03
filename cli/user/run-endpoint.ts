// One run of a derived command: what the words mean, the question if there is one, the request, the wait, and what is printed.
import type { EndpointName } from '#contract/api.ts'
import { commandOf, effectOf } from '#contract/command.ts'
import type { Endpoint } from '#contract/endpoint.ts'
import { followedPlace, seenIn } from '#contract/follow.ts'
import { isPathIdName, type PathIdName } from '#contract/id.ts'
import { NoAnswerError } from '#contract/retry.ts'
import type { Service } from '#contract/service.ts'
import { CommandError, exit_codes } from '../command.ts'
import { type Context, formatOf, projectOf, serviceWord } from './context.ts'
import type { Extra } from './extras.ts'
import { type Answered, anyCall, idOf, type Ids, named_things, thingsOf, withIds } from './ids.ts'
import { derivedColumns, printAnswer } from './output.ts'
import { bodyFrom, id_words, keyFor, mayAsk, pathIdsOf, queryFrom } from './request-of.ts'
import type { Session } from './session.ts'
import { confirm } from './terminal.ts'
import { timeoutOf, type Waited, waitUntilAtRest } from './waiting.ts'

type Chosen = { name: EndpointName; endpoint: Endpoint; extra: Extra }

/** Copies take time; the rest is soon done. */
const long_timeout = '30m'
const short_timeout = '10m'

export async function runEndpoint(chosen: Chosen, context: Context): Promise<number> {
  const { endpoint, extra } = chosen
  const { input } = context
  const session = await context.session()
  const key = keyFor(endpoint, input)
  const answered = await request(chosen, context, session, key)
  const { ids, answer } = answered
  // Before anything that can fail: it is told this once.
  const is_kept = await extra.keep?.(context, session, answered)
  const place = input.isSet('no-wait') || extra.is_beside ? undefined : followedPlace(endpoint, ids, answer)
  const default_timeout = ['add', 'remove'].includes(effectOf(endpoint)) ? long_timeout : short_timeout
  try {
    const waited =
      place && (await waitUntilAtRest(context, session, place, endpoint, timeoutOf(input, default_timeout)))
    await show(chosen, context, session, answer, waited, is_kept)
    return waited?.exit_code ?? exit_codes.done
  } catch (error) {
    if (is_kept === false) await show(chosen, context, session, answer, undefined, is_kept)
    throw error
  }
}

async function request(
  { name, endpoint, extra }: Chosen,
  context: Context,
  session: Session,
  key: { idempotency_key?: string },
): Promise<Answered> {
  const { input, terminal } = context
  const body = bodyFrom(endpoint, extra, input)
  const query = queryFrom(endpoint, input)
  const words = await wordsOf(endpoint, context, session)
  const send = async (ids: Ids): Promise<Answered> => {
    if (mayAsk(endpoint) && !input.isSet('yes')) await askFirst(endpoint, context, session, ids)
    const resolved = { ...(body && { body: await withIdsIn(body, session, ids) }), query }
    const onNextCursor = (cursor: string) => terminal.say(`More follow: --cursor ${cursor}`)
    const call = () =>
      anyCall(
        session.client,
        name,
      )({ ...ids, ...resolved, ...key, onNextCursor }).catch((error: unknown) => {
        throw withDoubt(error, endpoint, key.idempotency_key)
      })
    const answer = await (extra.around?.(context, session, ids, call) ?? call())
    return { ids, body, answer }
  }
  return await withIds(session.client, words, send, thingsOf(endpoint))
}

/** Where the answer was lost, what may have happened all the same and how to look. */
function withDoubt(error: unknown, endpoint: Endpoint, key: string | undefined): unknown {
  const is_late = error instanceof Error && error.name === 'TimeoutError'
  const is_lost = error instanceof NoAnswerError && error.may_have_arrived
  if (effectOf(endpoint) === 'read' || (!is_late && !is_lost)) return error
  const { noun } = commandOf(endpoint)
  const lines = [
    is_lost ? error.message : 'the server does not answer in time',
    `  it may have done this all the same: howdah ${noun} list shows what there is`,
    ...(key === undefined ? [] : [`  the same command with --idempotency-key ${key} goes on: nothing is made twice`]),
  ]
  return new CommandError(lines.join('\n'), { cause: error })
}

async function wordsOf(endpoint: Endpoint, context: Context, session: Session): Promise<Map<PathIdName, string>> {
  const words = new Map<PathIdName, string>()
  for (const name of pathIdsOf(endpoint)) {
    if (name === 'project_id') words.set(name, await projectOf(context, session))
    else if (name === 'service_id') words.set(name, serviceWord(context, session))
    else words.set(name, context.input.need(id_words[name]))
  }
  return words
}

/** Members that are ids, such as that of a VPC, may be names too. */
async function withIdsIn(
  body: Record<string, unknown>,
  session: Session,
  above: Ids,
): Promise<Record<string, unknown>> {
  const entries = Object.entries(body).map(async ([name, value]) => {
    const is_word = isPathIdName(name) && typeof value === 'string' && named_things[name] !== undefined
    return [name, is_word ? await idOf(session.client, name, value, above) : value] as const
  })
  return Object.fromEntries(await Promise.all(entries))
}

async function askFirst(endpoint: Endpoint, context: Context, session: Session, ids: Ids): Promise<void> {
  const { terminal, input } = context
  const is_removal = effectOf(endpoint) === 'remove'
  const { project_id = '', service_id } = ids
  const last = pathIdsOf(endpoint).at(-1) ?? 'project_id'
  // A deleted service cannot be read.
  const is_there = service_id !== undefined && endpoint.path.includes('/services/')
  const service = is_there ? await session.client.getService({ project_id, service_id }) : undefined
  const is_prod = service?.metadata.environment === 'PROD'
  if (!is_removal && !is_prod) return
  const target = last === 'service_id' && service !== undefined ? `${service.name} (${service_id})` : ids[last]
  const question = `${endpoint.summary}: ${target}${is_prod ? ', which is PROD' : ''}?`
  const is_whole_service = is_removal && last === 'service_id'
  await confirm(terminal, input, question, is_whole_service && is_prod ? service?.name : undefined)
}

async function show(
  { endpoint, extra }: Chosen,
  context: Context,
  session: Session,
  answer: unknown,
  waited: Waited | undefined,
  is_kept = true,
): Promise<void> {
  const { terminal } = context
  const format = formatOf(context, session)
  const is_read = effectOf(endpoint) === 'read'
  const made = Object(answer) as Service & Record<string, unknown>
  const seen = waited?.seen
  if (extra.after !== undefined)
    await extra.after(context, session, { made, seen: isService(seen) ? seen : undefined, is_kept })
  if (format === 'table' && (extra.after !== undefined || waited !== undefined)) return
  if (format === 'table' && answer === undefined) return terminal.say('Done.')
  const tell = format === 'table' ? extra.show : format === 'csv' ? extra.csv : undefined
  printAnswer(terminal, tell?.(answer, terminal) ?? seenIn(endpoint, answer, seen), {
    format,
    columns: extra.columns ?? derivedColumns(endpoint),
    is_read,
  })
}

function isService(answer: unknown): answer is Service {
  return typeof answer === 'object' && answer !== null && 'service_id' in answer
}
