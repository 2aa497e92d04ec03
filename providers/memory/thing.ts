// A service or a replica set of the memory provider: what is wanted of it, and what it has become. A change takes the delay of the region.
import type { LogEntry } from '../log.ts'
import type { Listed, ObservedReplicaSet, Pass, WantedReplicas, WantedService } from '../provider.ts'

type State = ObservedReplicaSet['state']
export type Wanted = { generation: number; deleted: boolean; nodes?: number; ha?: WantedReplicas }

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

export function newThings<W extends Wanted>(delay_ms: number, failures: ReadonlyMap<string, Error | string>) {
  const things = new Map<string, Thing<W>>()
  return {
    find: (id: string) => things.get(id),
    list: async (): Promise<Listed[]> => [...things].map(([id, { state }]) => ({ id, down: state === 'not_serving' })),

    /** A change begins when it is first wanted. */
    apply(id: string, wanted: W, power: WantedService['power'], pass: Pass | undefined): ObservedReplicaSet {
      pass?.signal.throwIfAborted()
      const failure = failures.get(id)
      if (failure instanceof Error) throw failure
      const ready_at_ms = performance.now() + delay_ms
      const thing: Thing<W> = things.get(id) ?? { wanted, state: 'absent', ready_at_ms, log: [], snapshots: new Map() }
      if (thing.wanted.generation !== wanted.generation) thing.ready_at_ms = ready_at_ms
      thing.wanted = wanted
      things.set(id, thing)
      if (failure !== undefined) return { ...waiting(thing.state, failure), in_progress: false }
      const left_ms = thing.ready_at_ms - performance.now()
      if (left_ms > 0) return waiting(thing.state, 'the delay of this region is not over yet', left_ms / 1000)
      const state = wanted.deleted ? 'absent' : power === 'on' ? 'serving' : 'stopped'
      if (state === 'serving' && thing.state !== 'serving') thing.serving_since_ms = Date.now()
      thing.state = state
      const message = `${state} at generation ${wanted.generation}`
      if (thing.log.at(-1)?.message !== message)
        thing.log.push({ timestamp: new Date().toISOString(), severity: 'LOG', message })
      if (state === 'absent') things.delete(id)
      return { state, settled: true, events: [] }
    },
  }
}

export function waiting(state: State, waiting_for: string, look_again_seconds = 0.1): ObservedReplicaSet {
  return { state, settled: false, waiting_for, in_progress: true, look_again_seconds, events: [] }
}
