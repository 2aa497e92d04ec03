// A service or a replica set of the memory provider: what is wanted of it, and what it has become. A change takes the delay of the region.
import type { LogEntry } from '../log.ts'
import type { Listed, ObservedReplicaSet, Pass, WantedReplicas } from '../provider.ts'

type State = ObservedReplicaSet['state']
export type Wanted = { generation: number; nodes?: number; ha?: WantedReplicas }

/** An error is thrown by each pass; a sentence says what each pass waits for. */
export type Failure = Error | string

export type Thing<W extends Wanted> = {
  wanted: W
  state: State
  /** When it has become what is wanted. */
  ready_at_ms: number
  /** In milliseconds since 1970; absent: it never served. */
  serving_since_ms?: number
  log: LogEntry[]
  /** Of a service: when each was taken, the oldest first; and the last exchange of its data. */
  snapshots: Map<string, Date>
  exchange_id?: string
}

export type Things<W extends Wanted> = ReturnType<typeof newThings<W>>

export function newThings<W extends Wanted>(delay_ms: number, failures: ReadonlyMap<string, Failure>) {
  const things = new Map<string, Thing<W>>()
  return {
    find: (id: string) => things.get(id),
    list: async (): Promise<Listed[]> => [...things].map(([id, { state }]) => ({ id, down: state === 'not_serving' })),

    /** A change begins when it is first wanted. */
    apply(id: string, wanted: W, to: 'serving' | 'stopped' | 'absent', pass: Pass | undefined): ObservedReplicaSet {
      pass?.signal.throwIfAborted()
      const failure = failures.get(id)
      if (failure instanceof Error) throw failure
      const known = things.get(id)
      const thing: Thing<W> = known ?? { wanted, state: 'absent', ready_at_ms: 0, log: [], snapshots: new Map() }
      things.set(id, thing)
      if (known?.wanted.generation !== wanted.generation) thing.ready_at_ms = performance.now() + delay_ms
      thing.wanted = wanted
      if (failure !== undefined) return { ...waiting(thing.state, failure), in_progress: false }
      const left_ms = thing.ready_at_ms - performance.now()
      if (left_ms > 0) return waiting(thing.state, 'the delay of this region is not over yet', left_ms / 1000)
      if (to === 'serving' && thing.state !== 'serving') thing.serving_since_ms = Date.now()
      thing.state = to
      const message = `${to} at generation ${wanted.generation}`
      if (thing.log.at(-1)?.message !== message)
        thing.log.push({ timestamp: new Date().toISOString(), severity: 'LOG', message })
      if (to === 'absent') things.delete(id)
      return { state: to, settled: true, events: [] }
    },
  }
}

export function waiting(state: State, waiting_for: string, look_again_seconds = 0.1): ObservedReplicaSet {
  return { state, settled: false, waiting_for, in_progress: true, look_again_seconds, events: [] }
}
