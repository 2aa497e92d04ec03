// Copies of the template that lie ready, so that a caller who creates a service need not wait for one: on a file system that
// cannot share blocks, copying is half of the time of a create. One, and after a burst of creates as many as that would have used.
// 1. Nothing depends on them: where none lies ready, a create copies the template itself.
// 2. Each is made aside and renamed into place whole and durable, and taken by one rename: no create gets half of one, and no
//    two get the same.
import { rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import { makeWhole, removeUnfinished } from '../host/aside.ts'
import type { Effect } from '../host/effect.ts'
import { errorCode, statIfThere } from '../../host/read.ts'
import { copyTree } from '../host/copy-tree.ts'
import { syncTree } from '../host/tree.ts'

export const spare_job = 'spare'

export type Spares = {
  ensureOne(effect: Effect, template: string, signal: AbortSignal): Promise<void>
  /** False when none is ready. */
  take(template: string, to: string): Promise<boolean>
}

/** As many creates are worked on at once; each is some 40 MB where blocks cannot be shared. */
const spares_max = 8
/** Creates that follow each other so closely are one burst: there is no time to make another spare in between. */
const burst_ms = 10_000

/** at_rest: 0 where none is to lie ready, ever. */
export function newSpares(at_rest: 0 | 1 = 1): Spares {
  let wanted: number = at_rest
  let taken_ms = -burst_ms
  return {
    async ensureOne(effect, template, signal) {
      for (const spare of spareNames(template).slice(0, wanted)) {
        if (!(await statIfThere(spare))) return await make(effect, template, spare, signal)
      }
    },
    async take(template, to) {
      const in_burst = performance.now() - taken_ms < burst_ms
      taken_ms = performance.now()
      for (const spare of spareNames(template)) if (await isMoved(spare, to)) return true
      if (in_burst && at_rest > 0) wanted = Math.min(spares_max, wanted + 1)
      return false
    },
  }
}

async function make(effect: Effect, template: string, spare: string, signal: AbortSignal): Promise<void> {
  await removeUnfinished(effect, dirname(template))
  await makeWhole(effect, 'spare', spare, async (aside) => {
    await effect('spare: copy template')
    await copyTree(template, aside, { keep_reserve: true, signal })
    await effect('spare: make durable')
    await syncTree(aside)
  })
}

async function isMoved(spare: string, to: string): Promise<boolean> {
  try {
    await rename(spare, to)
    return true
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return false
    throw error
  }
}

const spareNames = (template: string) =>
  Array.from({ length: spares_max }, (_, at) => `${template}.spare${at === 0 ? '' : `-${at + 1}`}`)
