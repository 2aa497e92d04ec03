// A list that goes on, over everything that may lie between: by a stream, resumed after the last entry; and where no stream gets
// through, such as behind a proxy that holds answers back until they end, by requests that wait for news.
import { pause as pauseUnless } from '#contract/retry.ts'
import { client } from './query.ts'
import type { ClientInput, StreamInput } from '#contract/client.ts'
import type { Api } from '#contract/api.ts'
import type { EntryOf } from '#contract/endpoint.ts'

type FollowedName = 'listProjectEvents' | 'getServiceLogs' | 'getReplicaSetLogs'
type Page<Entry> = { entries?: Entry[]; last_cursor?: string }

type Following<Name extends FollowedName> = {
  input: ClientInput<Name>
  /** The entry after which it begins; undefined: as the stream does. */
  after: string | undefined
  signal: AbortSignal
  /** Told when news come from now on, and when they do not any more. */
  onState: (is_open: boolean) => void
}

/** A stream says at once that it is open. */
const open_ms_max = 5_000
const again_ms = 2_000
const wait_seconds = 25
/** Requests before a stream is tried again. */
const waits_max = 20

/** Until the signal ends it. */
export async function* followed<Name extends FollowedName>(
  name: Name,
  { input, after, signal, onState }: Following<Name>,
): AsyncGenerator<EntryOf<Api[Name]>, void> {
  // These have the same members for what is done here, which the compiler cannot see in their union.
  const stream = (at: string | undefined, end: AbortSignal, onOpen: () => void) =>
    client.stream(name, {
      ...input,
      onOpen,
      signal: end,
      ...(at !== undefined && { last_event_id: at }),
    } as StreamInput<Name>)
  const readAfter = client[name] as unknown as (input: object) => Promise<Page<EntryOf<Api[Name]>>>
  let [at, is_held_back, is_open] = [after, false, false]
  const tell = (state: boolean) => {
    if (state !== is_open) onState(state)
    is_open = state
  }
  while (!signal.aborted) {
    try {
      if (is_held_back && at !== undefined) {
        for (let count = 0; count < waits_max && !signal.aborted; count += 1) {
          const query = { ...input.query, after: at }
          // The first does not wait: from its answer on it is known that news come.
          const manner = { signal, ...(count > 0 && { wait_seconds }) }
          const { entries = [], last_cursor } = await readAfter({ ...input, ...manner, query })
          tell(true)
          at = last_cursor ?? at
          yield* entries
        }
        is_held_back = false
      } else {
        const opening = new AbortController()
        const timer = setTimeout(() => {
          is_held_back = true
          opening.abort()
        }, open_ms_max)
        const onOpen = () => {
          clearTimeout(timer)
          tell(true)
        }
        try {
          for await (const { id, entry } of stream(at, AbortSignal.any([signal, opening.signal]), onOpen)) {
            at = id ?? at
            yield entry
          }
        } finally {
          clearTimeout(timer)
        }
      }
    } catch {
      // What the server refuses for good, a page of the list tells: that is asked for beside it.
    }
    if (signal.aborted) return
    tell(false)
    if (!is_held_back) await pause(again_ms, signal)
  }
}

/** Ended by the signal as well. */
export const pause = (ms: number, signal?: AbortSignal): Promise<void> => pauseUnless(ms, signal).catch(() => undefined)

/** Resolves when the tab is seen, or the signal is given. */
export function visible(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      if (!isShown() && !signal.aborted) return
      document.removeEventListener('visibilitychange', look)
      signal.removeEventListener('abort', look)
      resolve()
    }
    document.addEventListener('visibilitychange', look)
    signal.addEventListener('abort', look)
    look()
  })
}

/** Its signal is given when the tab has not been seen for this long. */
export function hiddenFor(ms: number): { signal: AbortSignal; stop: () => void } {
  const end = new AbortController()
  let timer: ReturnType<typeof setTimeout> | undefined
  const look = () => {
    clearTimeout(timer)
    if (!isShown()) timer = setTimeout(() => end.abort(), ms)
  }
  document.addEventListener('visibilitychange', look)
  look()
  return {
    signal: end.signal,
    stop: () => {
      clearTimeout(timer)
      document.removeEventListener('visibilitychange', look)
    },
  }
}

const isShown = () => document.visibilityState === 'visible'
