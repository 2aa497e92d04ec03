// What keeps the page true: one stream of the project's events for all tabs. An event is a hint and the GET after it the truth, so a
// lost one costs little. While there is no stream, what is on screen is asked for again and again.
// A browser opens six connections to one origin: only the tab that has the lock reads the stream, and tells the others.
import { useEffect } from 'react'
import { followed, hiddenFor, pause, visible } from './follow.ts'
import { isLive, setLive } from './polling.ts'
import { client, refetch } from './query.ts'
import { ofServices } from './refetch.ts'

const again_ms = 2_000
const batch_ms = 100
const hidden_max_ms = 5 * 60_000

type Told = { project_id: string } & ({ kind: 'event' } | { kind: 'state'; is_live: boolean } | { kind: 'asked' })

/** Follows the project while it is on screen. */
export function useFollow(project_id: string | undefined): void {
  useEffect(() => (project_id === undefined ? undefined : follow(project_id)), [project_id])
}

function follow(project_id: string): () => void {
  const end = new AbortController()
  const channel = new BroadcastChannel('howdah.live')
  const tell = (told: Told) => {
    if (end.signal.aborted) return
    hear(told)
    channel.postMessage(told)
  }
  channel.addEventListener('message', ({ data }: MessageEvent<Told>) => {
    if (data.project_id !== project_id) return
    if (data.kind === 'asked') {
      if (is_leader) channel.postMessage({ kind: 'state', is_live: isLive(), project_id } satisfies Told)
    } else hear(data)
  })
  let is_leader = false
  const lead = async () => {
    is_leader = true
    while (!end.signal.aborted) {
      await read(project_id, end.signal, tell).catch(() => undefined)
      tell({ kind: 'state', is_live: false, project_id })
      await pause(again_ms, end.signal)
    }
  }
  channel.postMessage({ kind: 'asked', project_id } satisfies Told)
  // Rejects when this tab leaves before it was its turn.
  navigator.locks.request(`howdah.live.${project_id}`, { signal: end.signal }, lead).catch(() => undefined)
  return () => {
    end.abort()
    channel.close()
    setLive(false)
  }
}

/** Until the tab has been hidden for long, or leaves. */
async function read(project_id: string, signal: AbortSignal, tell: (told: Told) => void): Promise<void> {
  await visible(signal)
  const hidden = hiddenFor(hidden_max_ms)
  try {
    const { last_cursor = '0' } = await client.listProjectEvents({ project_id, query: { limit: 1 }, signal })
    const onState = (is_live: boolean) => {
      tell({ kind: 'state', is_live, project_id })
      // What happened while there was no stream.
      tell({ kind: 'event', project_id })
    }
    const following = { input: { project_id }, after: last_cursor, onState }
    for await (const _event of followed('listProjectEvents', {
      ...following,
      signal: AbortSignal.any([signal, hidden.signal]),
    })) {
      tell({ kind: 'event', project_id })
    }
  } finally {
    hidden.stop()
  }
}

let due: ReturnType<typeof setTimeout> | undefined

function hear(told: Told): void {
  if (told.kind === 'state') setLive(told.is_live)
  if (told.kind !== 'event') return
  due ??= setTimeout(() => {
    due = undefined
    void refetch(ofServices)
  }, batch_ms)
}
