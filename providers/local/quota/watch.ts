// Measures how much of the disk each running service takes, every ten seconds at most and the more often the less is left of its
// quota, and calls back when something follows from it. A service without processor time since its last measure is
// skipped. A call back changes nothing by itself: the callee reads what is in force (access.ts).
import type { ObservedEvent } from '../../provider.ts'
import { clientsKeyOf, type Node } from '../host/layout.ts'
import { newPolling } from '../host/polling.ts'
import type { ProcessorTime } from '../host/processor-time.ts'
import { eventsOf, measureAgainInMs, quotaStateOf, sentenceOf, type QuotaState, type Used } from './rules.ts'

export type QuotaWatch = {
  /** A server with clients of its own: a service's primary, or a node of a replica set. */
  track(node: Node, it: { pid: number; quota_bytes: number }): void
  /** All of a service or of a set, or one node of it. */
  forget(key: string): void
  /** Undefined: it is not tracked. Without a state it was not measured yet. */
  find(service_id: string): { quota_bytes: number; state?: QuotaState } | undefined
  /** What happened since the last call. */
  takeEvents(service_id: string): ObservedEvent[]
  /** `is_news`: false when it was measured for the first time, and nothing follows. */
  onChange(callback: (node: Node, is_news: boolean) => void): void
  close(): void
}

type Tracked = {
  node: Node
  pid: number
  quota_bytes: number
  state?: QuotaState
  /** At the last measure. */
  cpu_ns?: number | undefined
  due_ms: number
  events: ObservedEvent[]
}

const poll_every_ms = 500
/** Within it a backend writes some megabytes at most. */
const idle_cpu_ns = 20_000_000
/** More than an idle server writes. */
const growth_bytes = 1024 ** 2

type Parts = { measure: (node: Node) => Promise<Used>; processorTime: ProcessorTime }

export function newQuotaWatch(parts: Parts): QuotaWatch {
  const tracked = new Map<string, Tracked>()
  const callbacks: ((node: Node, is_news: boolean) => void)[] = []
  const polling = newPolling(poll_every_ms, async () => {
    for (const one of [...tracked.values()].filter(({ due_ms }) => due_ms <= performance.now())) {
      // A removed folder belongs to a service that is being deleted.
      const news = await measureOne(parts, one).catch(() => undefined)
      const is_current = tracked.get(clientsKeyOf(one.node)) === one
      if (news && is_current) for (const callback of callbacks) callback(one.node, news.is_news)
    }
  })
  polling.set(true)
  const keysOf = (service_id: string) =>
    [...tracked.keys()].filter((key) => key === service_id || key.startsWith(`${service_id}/`))
  return {
    track(node, { pid, quota_bytes }) {
      const key = clientsKeyOf(node)
      const before = tracked.get(key)
      const is_same = before?.node.data === node.data && before.pid === pid && before.quota_bytes === quota_bytes
      if (before && is_same) return
      tracked.set(key, { events: [], ...before, node, pid, quota_bytes, cpu_ns: undefined, due_ms: 0 })
    },
    forget(service_id) {
      for (const key of keysOf(service_id)) tracked.delete(key)
    },
    find: (service_id) => {
      const own = tracked.get(service_id)
      if (own) return own
      const all = keysOf(service_id).flatMap((key) => tracked.get(key) ?? [])
      return all.find(({ state }) => state?.level === 'shut') ?? all[0]
    },
    takeEvents: (service_id) => tracked.get(service_id)?.events.splice(0) ?? [],
    onChange: (callback) => void callbacks.push(callback),
    close: () => polling.set(false),
  }
}

/** Undefined: nothing has changed. */
async function measureOne({ measure, processorTime }: Parts, one: Tracked): Promise<{ is_news: boolean } | undefined> {
  const { node, pid, quota_bytes, state: before } = one
  const cpu_ns = processorTime(node, pid)
  const begun_ms = performance.now()
  if (before && canRest(before) && cpu_ns !== undefined && cpu_ns - (one.cpu_ns ?? -Infinity) < idle_cpu_ns) {
    one.due_ms = begun_ms + measureAgainInMs(before.used, quota_bytes, 0)
    return undefined
  }
  const used = await measure(node)
  const now_ms = performance.now()
  const state = quotaStateOf(before, used, quota_bytes, { ms: now_ms, date: new Date() })
  one.state = state
  one.cpu_ns = cpu_ns
  one.due_ms = now_ms + measureAgainInMs(used, quota_bytes, now_ms - begun_ms)
  one.events.push(...eventsOf(before, state, quota_bytes))
  if (!before) return { is_news: state.level !== 'within' || state.presses }
  const changed = before.level !== state.level || before.presses !== state.presses
  // A client may have logged in while it was being shut.
  const leaks = state.level === 'shut' && used.data_bytes - before.used.data_bytes > growth_bytes
  return changed || leaks ? { is_news: changed } : undefined
}

/** At other levels space may come back without any work of the service, or time itself changes something. */
const canRest = ({ level, presses }: QuotaState) => (level === 'within' || level === 'near') && !presses

/** The message of an over-full service to its users. */
export function quotaTrouble(watch: QuotaWatch, service_id: string): string | undefined {
  const found = watch.find(service_id)
  return found?.state && sentenceOf(found.state, found.quota_bytes)
}
