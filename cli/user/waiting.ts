// Waiting until a service or a replica set is at rest, a snapshot complete, or either removed. On a terminal one line tells what it is and
// why; elsewhere there is a line for each change. Ctrl-C ends the wait and not the work.
import type { Endpoint } from '#contract/endpoint.ts'
import { type FollowedPlace, readFollowed } from '#contract/follow.ts'
import type { Service } from '#contract/service.ts'
import { isUnderWay } from '#contract/service-status.ts'
import type { Snapshot } from '#contract/snapshot.ts'
import { isAsWanted, isAtRest } from '#contract/wait.ts'
import { CommandError, exit_codes, type Input, UsageError } from '../command.ts'
import type { Context } from './context.ts'
import { parseDuration } from '#contract/duration.ts'
import type { Session } from './session.ts'

type Seen = Service | Snapshot | undefined

export type Waited = { seen: Seen; exit_code: number }

/** How long one request may wait: short, so that the reason is news. */
const request_seconds = 2
const poll_ms = 300
/** A service that does not serve is mostly healed within a second. */
const healing_ms = 10_000
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
  place: FollowedPlace,
  endpoint: Endpoint,
  timeout_ms: number,
): Promise<Waited> {
  const seen = await waitUntil(context, session, place, (now) => isAtRest(endpoint, now), timeout_ms)
  const is_good = isAsWanted(endpoint, seen)
  return { seen, exit_code: is_good ? exit_codes.done : exit_codes.not_as_wanted }
}

export async function waitUntil(
  { terminal }: Pick<Context, 'terminal'>,
  { client }: Session,
  place: FollowedPlace,
  isOver: (seen: Seen, elapsed_ms: number) => boolean,
  timeout_ms: number,
): Promise<Seen> {
  const begin = performance.now()
  const end = new AbortController()
  const interrupt = () => end.abort()
  process.once('SIGINT', interrupt)
  let line = `${place.snapshot_id ?? place.service_id}: waiting`
  const spinning = setInterval(() => {
    const elapsed = performance.now() - begin
    const sign = spinner[Math.floor(elapsed / spin_ms) % spinner.length]
    terminal.progress(`${sign} ${line} (${Math.round(elapsed / 1000)} s)`)
  }, spin_ms)
  try {
    for (;;) {
      const seen = await readFollowed(client, place, { wait_seconds: request_seconds, signal: end.signal })
      const next = await lineOf(client, place, seen, performance.now() - begin)
      if (isOver(seen, performance.now() - begin)) {
        terminal.say(`${next} (${((performance.now() - begin) / 1000).toFixed(1)} s)`)
        return seen
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
    const again = place.snapshot_id === undefined ? `wait ${place.service_id} waits again` : 'events tells the rest'
    const message = `stopped waiting; the work goes on, and howdah service ${again}`
    throw new CommandError(message, { exit_code: exit_codes.interrupted, cause: error })
  } finally {
    clearInterval(spinning)
    terminal.progress('')
    process.removeListener('SIGINT', interrupt)
  }
}

/** UNSTABLE is no end while it may be healed. */
export function unlessHealing(isOver: (seen: Seen) => boolean): (seen: Seen, elapsed_ms: number) => boolean {
  let unstable_since_ms: number | undefined
  return (seen, elapsed_ms) => {
    unstable_since_ms = seen?.status === 'UNSTABLE' ? (unstable_since_ms ?? elapsed_ms) : undefined
    return isOver(seen) && (unstable_since_ms === undefined || elapsed_ms - unstable_since_ms >= healing_ms)
  }
}

type Client = Session['client']

/** With what keeps it, once that is worth a question. */
async function lineOf(client: Client, place: FollowedPlace, service: Seen, elapsed_ms: number): Promise<string> {
  if (service === undefined) return await removedLineOf(client, place)
  if (!('service_id' in service)) return `snapshot ${service.id}: ${service.status}`
  const line = `${service.name}: ${service.status}`
  const is_new = elapsed_ms < request_seconds * 1000 && service.status !== 'UNSTABLE'
  if (is_new || (service.status !== 'UNSTABLE' && !isUnderWay(service.status))) return line
  const events = await client
    .listServiceEvents({ project_id: place.project_id, service_id: place.service_id, query: { limit: events_read } })
    .catch(() => [])
  const reason = events.find(({ kind }) => ['setback', 'progress', 'unstable'].includes(kind))
  return reason === undefined ? line : `${line}, ${reason.message}`
}

/** A deleted service may be kept: then with the way back. */
async function removedLineOf(client: Client, { project_id, service_id, snapshot_id }: FollowedPlace): Promise<string> {
  const line = `${snapshot_id ?? service_id}: removed`
  const kept = await client.listDeletedServices({ project_id }).catch(() => [])
  const { kept_until } = kept.find((one) => one.service_id === service_id && snapshot_id === undefined) ?? {}
  return kept_until === undefined
    ? line
    : `${line}; until ${kept_until} howdah deleted-service restore ${service_id} brings it back`
}
