// How many answers that take long each caller and each project may have at a time: streams, and requests that prefer to wait. Each of them
// reads again at every event.
import type { FastifyRequest } from 'fastify'
import { Fault } from '#contract/fault.ts'
import { keyOf, paramsOf } from './admission.ts'

export type Places = {
  /** Takes one, or throws; returns what gives it back. */
  take(request: FastifyRequest): () => void
}

type PlacesOf = {
  caller_max: number
  project_max: number
  /** What there are too many of, and what to do about it. */
  what: string
  advice: string
}

export function newPlaces({ caller_max, project_max, what, advice }: PlacesOf): Places {
  const taken = new Map<string, number>()
  const add = (keys: readonly string[], count: 1 | -1) => {
    for (const key of keys) {
      const now = (taken.get(key) ?? 0) + count
      if (now > 0) taken.set(key, now)
      else taken.delete(key)
    }
  }
  const tooMany = (owner: string, most: number) =>
    new Fault('RATE_LIMITED', `${owner} has at most ${most} ${what}; ${advice}`, { retry_after_seconds: 10 })
  return {
    take: (request) => {
      const caller = request.caller === undefined ? '' : keyOf(request.caller)
      const project = `project ${paramsOf(request)['project_id']}`
      if ((taken.get(caller) ?? 0) >= caller_max) throw tooMany('a caller', caller_max)
      if ((taken.get(project) ?? 0) >= project_max) throw tooMany('a project', project_max)
      const keys = [caller, project]
      add(keys, 1)
      return () => add(keys, -1)
    },
  }
}
