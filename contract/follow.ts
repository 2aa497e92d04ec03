// What a client goes on with after an answer: reading the status of what a request leads to, and reading a stream over interruptions.
// What to wait for is told by wait.ts; how long, and what a person sees meanwhile, is the client's own.
import type { StreamName } from './api.ts'
import type { Client, StreamInput, Streamed } from './client.ts'
import type { Endpoint } from './endpoint.ts'
import { Fault, isNotFound } from './fault.ts'
import { ReadReplicaSet } from './replica-set.ts'
import { pause } from './retry.ts'
import { Service as ServiceSchema, type Service } from './service.ts'
import type { Snapshot } from './snapshot.ts'
import { followedId, followedSnapshotId, isAsWanted, isAtRest } from './wait.ts'

/** snapshot_id: followed in the list of snapshots of the service. */
export type FollowedPlace = { project_id: string; service_id: string; snapshot_id?: string }

const timeout_ms_default = 30 * 60_000
/** How long one answer may wait. */
const request_seconds_max = 30
const poll_ms = 300
const resume_pause_ms = 1000

/** Undefined where an endpoint leaves nothing to wait for. */
export function followedPlace(
  endpoint: Endpoint,
  path_ids: Readonly<Record<string, string>>,
  answer: unknown,
): FollowedPlace | undefined {
  const { project_id = '' } = path_ids
  const snapshot_id = followedSnapshotId(endpoint, path_ids, answer)
  if (snapshot_id !== undefined) return { project_id, service_id: path_ids['service_id'] ?? '', snapshot_id }
  const service_id = followedId(endpoint, path_ids, answer)
  return service_id === undefined ? undefined : { project_id, service_id }
}

/** As it is now; undefined where it is not there any more. The answer about a service may wait until nothing is under way. */
export async function readFollowed(
  client: Client,
  { snapshot_id, ...service }: FollowedPlace,
  manner: { wait_seconds: number; signal?: AbortSignal },
): Promise<Service | Snapshot | undefined> {
  const { wait_seconds, ...others } = manner
  try {
    if (snapshot_id === undefined) return await client.getService({ ...service, ...others, wait_seconds })
    return (await client.listSnapshots({ ...service, ...others })).find(({ id }) => id === snapshot_id)
  } catch (error) {
    if (isNotFound(error)) return undefined
    throw error
  }
}

/** Until what the endpoint leads to is there; another end is thrown. */
export async function settle(
  client: Client,
  endpoint: Endpoint,
  place: FollowedPlace,
  { timeout_ms = timeout_ms_default, signal }: { timeout_ms?: number; signal?: AbortSignal },
): Promise<Service | Snapshot | undefined> {
  const deadline = performance.now() + timeout_ms
  for (;;) {
    const left_seconds = Math.max(0, Math.ceil((deadline - performance.now()) / 1000))
    const wait_seconds = Math.min(request_seconds_max, left_seconds)
    const seen = await readFollowed(client, place, { wait_seconds, ...(signal && { signal }) })
    if (isAtRest(endpoint, seen)) {
      if (isAsWanted(endpoint, seen)) return seen
      throw new Fault('WRONG_STATE', `${place.service_id} is ${seen?.status ?? 'removed'}; its events say why`)
    }
    if (performance.now() > deadline) throw new DOMException('the time is up, and the work goes on', 'TimeoutError')
    await pause(poll_ms, signal)
  }
}

/** The answer as it is by now; a password is in the first answer only. */
export async function latestOf(
  client: Client,
  endpoint: Endpoint,
  { project_id = '', service_id = '' }: Readonly<Record<string, string>>,
  answer: unknown,
  seen: Seen,
): Promise<unknown> {
  const is_set = seen !== undefined && endpoint.output === ReadReplicaSet && typeof answer === 'object'
  if (!is_set || answer === null) return seenIn(endpoint, answer, seen)
  const sets = await client.listReplicaSets({ project_id, service_id })
  return sets.find(({ id }) => 'id' in answer && id === answer.id) ?? answer
}

type Seen = Service | Snapshot | undefined

/** What the wait saw last, where the answer is about it, with the password that the answer alone has; else the answer. */
export function seenIn({ follows, output }: Endpoint, answer: unknown, seen: Seen): unknown {
  if (seen === undefined || typeof answer !== 'object' || answer === null) return answer
  if (follows === 'snapshot') return seen
  if (output !== ServiceSchema) return answer
  return 'initial_password' in answer ? { ...seen, initial_password: answer.initial_password } : seen
}

/** A stream that goes on until its signal ends it, also over a server that is started anew: each begins after the last entry of the one before. */
export async function* resumed<Name extends StreamName>(
  client: Client,
  name: Name,
  input: StreamInput<Name>,
  onInterruption: (error: unknown) => void = () => undefined,
): AsyncGenerator<Streamed<Name>, void> {
  let last_event_id: string | undefined
  const isOver = () => input.signal?.aborted === true
  while (!isOver()) {
    let is_open = false
    const onOpen = () => {
      is_open = true
      input.onOpen?.()
    }
    try {
      const from = last_event_id === undefined ? {} : { last_event_id }
      for await (const streamed of client.stream(name, { ...input, ...from, onOpen })) {
        last_event_id = streamed.id ?? last_event_id
        yield streamed
      }
    } catch (error) {
      if (isOver()) return
      const is_refusal = error instanceof Fault && error.status < 500 && error.code !== 'RATE_LIMITED'
      // An access token ends while its stream runs: the next stream is opened with a new one, or is refused.
      if (is_refusal && !(is_open && error.code === 'UNAUTHORIZED')) throw error
      if (!is_refusal) onInterruption(error)
    }
    await pause(resume_pause_ms, input.signal).catch(() => undefined)
  }
}
