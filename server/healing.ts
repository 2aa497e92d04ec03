// News from a provider are brought to the queue, whose pass heals. While the metadata store is unreachable, or does not answer soon,
// a crash is healed at once by the last wanted state that the provider knows, and the queue is told when the store is back.
import { setTimeout as pause } from 'node:timers/promises'
import type { ObservedEvent, Kind, Provider } from '#providers/provider.ts'
import type { Db } from './store/db.ts'
import type { Log } from './log.ts'
import { alarm, isUrgent } from './work.ts'

export type Healing = {
  /** A provider says that this may be down. */
  heard(news: News): void
  /** A pass by the queue begins. */
  passBegins(id: string): void
  /** What happened without the store, and is not told yet. */
  eventsOf(id: string): readonly ObservedEvent[]
  /** These are told: the pass that had them is settled. */
  told(id: string, events: readonly ObservedEvent[]): void
  close(): Promise<void>
}

type News = { kind: Kind; id: string; provider: Pick<Provider, 'heal'> }
/** `is_passed`: a pass by the queue has begun since. */
type Call = News & { is_passed: boolean }

/** A store that answers takes a few milliseconds. */
const store_patience_ms = 150
/** From a call that the store has taken until the pass for it begins. */
const pass_patience_ms = 1_000
const heal_again_ms = { least: 100, most: 2_000 }
const at_once_max = 8
/** The newest, of one id: a server may die at every start, while the store is away for days. */
const untold_max = 100

export function newHealing(db: Db, log: Log): Healing {
  const closing = new AbortController()
  const { signal } = closing
  const rest = (ms: number) => pause(ms, false, { signal }).catch(() => false)
  const untold = new Map<string, ObservedEvent[]>()
  /** Ids that are being healed, each with whether there was news of it once more meanwhile. */
  const healing = new Map<string, { called_again: boolean }>()
  const under_way = new Map<Call, Promise<unknown>>()

  /** Undefined: the store does not answer, or not soon. */
  const answerOf = <T>(query: Promise<T>): Promise<T | undefined> =>
    Promise.race([query.catch(() => undefined), rest(store_patience_ms).then(() => undefined)])
  const isTaken = async ({ kind, id }: News) => (await answerOf(alarm(db, kind, [id]).then(() => true))) === true

  /** Again and again, until the queue has it. */
  const healUntilTaken = async (news: News): Promise<void> => {
    const { provider, id } = news
    const state = { called_again: false }
    healing.set(id, state)
    do {
      const { events, again_ms } = await healOnce(provider, log, id)
      untold.set(id, [...(untold.get(id) ?? []), ...events].slice(-untold_max))
      const again_at = performance.now() + again_ms
      while (!signal.aborted && !state.called_again && performance.now() < again_at) await rest(heal_again_ms.least)
      state.called_again = false
    } while (!signal.aborted && !(await isTaken(news)))
    healing.delete(id)
  }
  const bring = async (call: Call): Promise<void> => {
    const { kind, id } = call
    const known = healing.get(id)
    if (known) known.called_again = true
    const isOver = () => signal.aborted || call.is_passed
    if (await isTaken(call)) {
      let is_urgent: boolean | undefined
      // Where very many crashed at once their passes wait for each other; only a store that is unreachable since then is no longer waited for.
      do {
        await rest(pass_patience_ms)
        is_urgent = isOver() ? false : await answerOf(isUrgent(db, kind, id))
      } while (is_urgent)
      // A pass has begun here, or has ended at another server; or no row wants the subject any more.
      if (is_urgent === false) return
    }
    while (!isOver() && healing.size >= at_once_max) await rest(heal_again_ms.least)
    if (!isOver() && !healing.has(id)) await healUntilTaken(call)
  }
  return {
    heard(news) {
      const call = { ...news, is_passed: false }
      const work = bring(call).finally(() => under_way.delete(call))
      under_way.set(call, work)
    },
    passBegins(id) {
      for (const call of under_way.keys()) if (call.id === id) call.is_passed = true
    },
    eventsOf: (id) => untold.get(id) ?? [],
    told(id, events) {
      const left = (untold.get(id) ?? []).filter((event) => !events.includes(event))
      if (left.length > 0) untold.set(id, left)
      else untold.delete(id)
    },
    async close() {
      closing.abort()
      await Promise.all(under_way.values())
    },
  }
}

type Healed = { events: readonly ObservedEvent[]; again_ms: number }

async function healOnce(provider: Pick<Provider, 'heal'>, log: Log, id: string): Promise<Healed> {
  try {
    const observed = await provider.heal(id)
    if (!observed) return { events: [], again_ms: heal_again_ms.most }
    const { settled, look_again_seconds = 1, state, waiting_for, events } = observed
    log.warn({ id, state, waiting_for }, 'healed without the metadata store')
    const wanted_ms = settled ? heal_again_ms.most : look_again_seconds * 1000
    return { events, again_ms: Math.min(Math.max(wanted_ms, heal_again_ms.least), heal_again_ms.most) }
  } catch (error) {
    log.error({ err: error, id }, 'healing failed without the metadata store')
    return { events: [], again_ms: heal_again_ms.most }
  }
}
