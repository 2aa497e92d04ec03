// Waiting until a service or a replica set is at rest, or removed. On a terminal one line tells what it is and why; elsewhere there is a
// line for each change. Ctrl-C ends the wait and not the work.
import type { Endpoint } from '#contract/endpoint.ts'
import { Fault } from '#contract/fault.ts'
import type { Service } from '#contract/service.ts'
import { isUnderWay } from '#contract/service-status.ts'
import { isAsWanted, isAtRest } from '#contract/wait.ts'
import { CommandError, exit_codes, type Input, UsageError } from '../command.ts'
import type { Context } from './context.ts'
import { parseDuration } from './moment.ts'
import type { Session } from './session.ts'

export type Waited = { service: Service | undefined; exit_code: number }

type Place = { project_id: string; service_id: string }

/** How long one request may wait: short, so that the reason is news. */
const request_seconds = 2
const poll_ms = 300
const events_read = 20
const spin_ms = 100
const spinner = ['⠋', '⠙', '⠹', '⠸', '⠼', '⠴', '⠦', '⠧', '⠇', '⠏']

export function timeoutOf(input: Input, default_text: string): number {
  const text = input.text('timeout') ?? default_text
  const duration = parseDuration(text)
  if (duration === undefined)
    throw new UsageError(`--timeout: ${JSON.stringify(text)} is no duration, such as 90s or 10m`)
  return duration
}

/** Until what the endpoint leads to is there. The last line stays and says how it ended. */
export async function waitUntilAtRest(
  context: Context,
  session: Session,
  place: Place,
  endpoint: Endpoint,
  timeout_ms: number,
): Promise<Waited> {
  const service = await waitUntil(context, session, place, (seen) => isAtRest(endpoint, seen), timeout_ms)
  const is_good = isAsWanted(endpoint, service)
  return { service, exit_code: is_good ? exit_codes.done : exit_codes.not_as_wanted }
}

export async function waitUntil(
  { terminal }: Pick<Context, 'terminal'>,
  { client }: Session,
  place: Place,
  isOver: (service: Service | undefined) => boolean,
  timeout_ms: number,
): Promise<Service | undefined> {
  const begin = performance.now()
  const end = new AbortController()
  const interrupt = () => end.abort()
  process.once('SIGINT', interrupt)
  let line = `${place.service_id}: waiting`
  const spinning = setInterval(() => {
    const elapsed = performance.now() - begin
    const sign = spinner[Math.floor(elapsed / spin_ms) % spinner.length]
    terminal.progress(`${sign} ${line} (${Math.round(elapsed / 1000)} s)`)
  }, spin_ms)
  try {
    for (;;) {
      const service = await read(client, place, end.signal)
      const next = await lineOf(client, place, service, performance.now() - begin)
      if (isOver(service)) {
        terminal.say(`${next} (${((performance.now() - begin) / 1000).toFixed(1)} s)`)
        return service
      }
      if (next !== line && !terminal.is_live) terminal.say(next)
      line = next
      if (performance.now() - begin > timeout_ms) {
        throw new CommandError(`${line}; the time is up, and the work goes on`, { exit_code: exit_codes.timeout })
      }
      await new Promise((resolve) => setTimeout(resolve, poll_ms))
    }
  } catch (error) {
    if (!end.signal.aborted) throw error
    const message = `stopped waiting; the work goes on, and howdah service wait ${place.service_id} waits again`
    throw new CommandError(message, { exit_code: exit_codes.interrupted, cause: error })
  } finally {
    clearInterval(spinning)
    terminal.progress('')
    process.removeListener('SIGINT', interrupt)
  }
}

type Client = Session['client']

async function read(client: Client, place: Place, signal: AbortSignal): Promise<Service | undefined> {
  try {
    return await client.getService({ ...place, wait_seconds: request_seconds, signal })
  } catch (error) {
    if (error instanceof Fault && error.code === 'NOT_FOUND') return undefined
    throw error
  }
}

/** With what keeps it, once that is worth a question. */
async function lineOf(client: Client, place: Place, service: Service | undefined, elapsed_ms: number): Promise<string> {
  if (service === undefined) return `${place.service_id}: removed`
  const line = `${service.name}: ${service.status}`
  const is_new = elapsed_ms < request_seconds * 1000 && service.status !== 'UNSTABLE'
  if (is_new || (service.status !== 'UNSTABLE' && !isUnderWay(service.status))) return line
  const events = await client.listServiceEvents({ ...place, query: { limit: events_read } }).catch(() => [])
  const reason = events.find(({ kind }) => ['setback', 'progress', 'unstable'].includes(kind))
  return reason === undefined ? line : `${line}, ${reason.message}`
}
