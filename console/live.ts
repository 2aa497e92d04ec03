// What keeps the page true: one stream of the project's events for all tabs. An event is a hint and the GET after it the truth, so a
// lost one costs little. While there is no stream, what is on screen is asked for again and again.
// A browser opens six connections to one origin: only the tab that has the lock reads the stream, and tells the others. A tab that has
// not been seen for long gives the lock to the next. A page that came without TLS has no locks: each tab reads for itself, while it is seen.
import { useEffect } from 'react'
import { followed, hiddenFor, pause, visible } from './follow.ts'
import { isLive, setLive } from './polling.ts'
import { client, refetch } from './query.ts'
import { ofServices } from './refetch.ts'

const again_ms = 2_000
const batch_ms = 100
/** An answer that takes longer does not hold the next ones up. */
const refetch_ms_max = 2_000
const hidden_max_ms = 5 * 60_000

type Told = { project_id: string } & ({ kind: 'event' } | { kind: 'state'; is_live: boolean } | { kind: 'asked' })

/** Follows the project while it is on screen. */
export function useFollow(project_id: string | undefined): void {
  useEffect(() => (project_id === undefined ? undefined : follow(project_id)), [project_id])
}

function follow(project_id: string): () => void {
  const end = new AbortController()
  const channel = 'locks' in navigator ? new BroadcastChannel('howdah.live') : undefined
  const tell = (told: Told) => {
    if (end.signal.aborted) return
    hear(told)
    channel?.postMessage(told)
  }
  channel?.addEventListener('message', ({ data }: MessageEvent<Told>) => {
    if (data.project_id !== project_id) return
    if (data.kind === 'asked') {
      if (is_leader) channel.postMessage({ kind: 'state', is_live: isLive(), project_id } satisfies Told)
    } else hear(data)
  })
  let is_leader = false
  const lead = async () => {
    is_leader = true
    const hidden = hiddenFor(channel === undefined ? 0 : hidden_max_ms)
    const signal = AbortSignal.any([end.signal, hidden.signal])
    while (!signal.aborted) {
      await read(project_id, signal, tell).catch(() => undefined)
      tell({ kind: 'state', is_live: false, project_id })
      await pause(again_ms, signal)
    }
    hidden.stop()
    is_leader = false
  }
  channel?.postMessage({ kind: 'asked', project_id } satisfies Told)
  void takeTurns(lead, { name: channel && `howdah.live.${project_id}`, signal: end.signal })
  return () => {
    end.abort()
    channel?.close()
    setLive(false)
  }
}

/** `name`: of the lock; undefined: there is none. */
async function takeTurns(
  lead: () => Promise<void>,
  { name, signal }: { name: string | undefined; signal: AbortSignal },
) {
  while (!signal.aborted) {
    await visible(signal)
    if (signal.aborted) return
    if (name === undefined) await lead()
    // Rejects when this tab leaves before it is its turn, and where a browser gives a page no lock: then it reads without one.
    else await navigator.locks.request(name, { signal }, lead).catch(() => (signal.aborted ? undefined : lead()))
  }
}

async function read(project_id: string, signal: AbortSignal, tell: (told: Told) => void): Promise<void> {
  const { last_cursor = '0' } = await client.listProjectEvents({ project_id, query: { limit: 1 }, signal })
  const onState = (is_live: boolean) => {
    tell({ kind: 'state', is_live, project_id })
    // What happened while there was no stream.
    tell({ kind: 'event', project_id })
  }
  const following = { input: { project_id }, after: last_cursor, onState, signal }
  for await (const _event of followed('listProjectEvents', following)) tell({ kind: 'event', project_id })
}

let is_stale = false
let is_asking = false

function hear(told: Told): void {
  if (told.kind === 'state') setLive(told.is_live)
  if (told.kind !== 'event') return
  is_stale = true
  if (!is_asking) void askAgain()
}

/** Begun anew with every event, an answer that takes longer than the next event would never be on screen. */
async function askAgain(): Promise<void> {
  is_asking = true
  while (is_stale) {
    await pause(batch_ms)
    is_stale = false
    await Promise.race([refetch(ofServices), pause(refetch_ms_max)])
  }
  is_asking = false
}
