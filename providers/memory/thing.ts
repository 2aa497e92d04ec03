// A thing that is wanted of the memory provider, a service or a replica set: when it is as it is wanted, and what is seen of it meanwhile.
import type { Happening, Listed, ObservedService } from '../provider.ts'

export type Thing = {
  wanted: { generation: number }
  state: ObservedService['state']
  /** When it has become what is wanted. */
  ready_at_ms: number
  /** Why it cannot be. */
  failure?: string | undefined
}

export function newThings<T extends Thing>(delay_ms: number) {
  const things = new Map<string, T>()
  /** When those that are being removed are gone. */
  const leaving = new Map<string, number>()
  return {
    find: (id: string) => things.get(id),
    has: (id: string) => things.has(id),
    list: (): Listed[] => [...things].map(([id, { state }]) => ({ id, down: state === 'not_serving' })),

    /** A change begins when it is first heard of. */
    ensure(id: string, wanted: T['wanted'], makeRest: () => Omit<T, keyof Thing>): T {
      const known = things.get(id)
      const ready_at_ms = performance.now() + delay_ms
      // The two halves of a T, which the compiler cannot put together again.
      const thing = known ?? ({ ...makeRest(), wanted, state: 'absent', ready_at_ms } as unknown as T)
      if (known && known.wanted.generation !== wanted.generation) known.ready_at_ms = ready_at_ms
      thing.wanted = wanted
      things.set(id, thing)
      return thing
    },

    /** True when it is gone. */
    remove(id: string): boolean {
      const gone_at_ms = leaving.get(id) ?? performance.now() + delay_ms
      const is_gone = performance.now() >= gone_at_ms
      if (is_gone) things.delete(id)
      if (is_gone) leaving.delete(id)
      else leaving.set(id, gone_at_ms)
      return is_gone
    },

    observe(thing: T, power: 'on' | 'off') {
      const left_ms = thing.ready_at_ms - performance.now()
      const happenings: Happening[] = []
      if (thing.failure !== undefined) {
        thing.state = 'not_serving'
        return { state: thing.state, settled: false, waiting_for: thing.failure, look_again_seconds: 0.1, happenings }
      }
      if (left_ms > 0) {
        const waiting_for = `${Math.ceil(left_ms)} ms of the delay of this region are left`
        return { state: thing.state, settled: false, waiting_for, look_again_seconds: left_ms / 1000, happenings }
      }
      thing.state = power === 'on' ? 'serving' : 'stopped'
      return { state: thing.state, settled: true, happenings }
    },
  }
}
