// Gates: of all calls for the same costly work a few run at once, some wait for their turn, and the rest is refused. Memory
// and processors are bounded by that, however many calls come.
import type { Fault } from '#contract/fault.ts'

type GateLimits = {
  at_once_max: number
  waiting_max: number
  /** For the rest. */
  refusal: () => Fault
}

type Gate = <T>(work: () => Promise<T>) => Promise<T>

export function newGate({ at_once_max, waiting_max, refusal }: GateLimits): Gate {
  let inside = 0
  const waiting: (() => void)[] = []
  return async (work) => {
    if (inside >= at_once_max) {
      if (waiting.length >= waiting_max) throw refusal()
      await new Promise<void>((resolve) => waiting.push(resolve))
    } else inside += 1
    try {
      return await work()
    } finally {
      // The call that has waited longest takes this place; no other can get in between.
      const next = waiting.shift()
      if (next === undefined) inside -= 1
      else next()
    }
  }
}

/** A gate for each key, removed when it is not in use. */
export function newGates(limits: GateLimits): <T>(key: string, work: () => Promise<T>) => Promise<T> {
  const gates = new Map<string, { enter: Gate; users: number }>()
  return async (key, work) => {
    const gate = gates.get(key) ?? { enter: newGate(limits), users: 0 }
    gates.set(key, gate)
    gate.users += 1
    try {
      return await gate.enter(work)
    } finally {
      gate.users -= 1
      if (gate.users === 0) gates.delete(key)
    }
  }
}
