// A service or a replica set of the memory provider: when it has become as wanted, and what is observed until then.
import type { Listed, ObservedReplicaSet } from '../provider.ts'

type State = ObservedReplicaSet['state']

export type Thing = {
  wanted: { generation: number }
  state: State
  /** When it has become what is wanted. */
  ready_at_ms: number
  /** Since when it serves, in milliseconds since 1970. */
  serving_since_ms: number
}

export type Things<T extends Thing> = ReturnType<typeof newThings<T>>

export function newThings<T extends Thing>(delay_ms: number) {
  const things = new Map<string, T>()
  /** When each that is being removed is removed. */
  const leaving = new Map<string, number>()
  return {
    find: (id: string) => things.get(id),
    list: (): Listed[] => [...things].map(([id, { state }]) => ({ id, down: state === 'not_serving' })),

    /** A change begins when it is first wanted. */
    ensure(id: string, wanted: T['wanted'], rest: Omit<T, keyof Thing>): T {
      const known = things.get(id)
      const ready_at_ms = performance.now() + delay_ms
      // The two halves of a T, which the compiler cannot put together again.
      const thing = known ?? ({ ...rest, wanted, state: 'absent', ready_at_ms, serving_since_ms: 0 } as unknown as T)
      if (known && known.wanted.generation !== wanted.generation) known.ready_at_ms = ready_at_ms
      thing.wanted = wanted
      things.set(id, thing)
      return thing
    },

    /** True when it is removed. */
    remove(id: string): boolean {
      const gone_at_ms = leaving.get(id) ?? performance.now() + delay_ms
      leaving.set(id, gone_at_ms)
      if (performance.now() < gone_at_ms) return false
      things.delete(id)
      leaving.delete(id)
      return true
    },

    observe(thing: T, power: 'on' | 'off'): ObservedReplicaSet {
      const left_ms = thing.ready_at_ms - performance.now()
      if (left_ms > 0)
        return waiting(thing.state, `${Math.ceil(left_ms)} ms of the delay of this region are left`, left_ms)
      if (thing.state !== 'serving') thing.serving_since_ms = Date.now()
      thing.state = power === 'on' ? 'serving' : 'stopped'
      return { state: thing.state, settled: true, events: [] }
    },
  }
}

export const waiting = (state: State, waiting_for: string, ms = 100): ObservedReplicaSet => ({
  state,
  settled: false,
  waiting_for,
  in_progress: true,
  look_again_seconds: ms / 1000,
  events: [],
})
