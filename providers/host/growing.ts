// Files that other users may write to are read to their end, wherever that is by then: a service's user could make it holes of terabytes,
// or write on for ever. So the work that reads them ends when one of them has grown beyond what it can be.
import { lstatSync } from 'node:fs'
import { setImmediate as others, setTimeout as pause } from 'node:timers/promises'

export class Grown extends Error {
  override readonly name = 'Grown'
  readonly path: string
  constructor(path: string) {
    super(`${path} grew while it was read`)
    this.path = path
  }
}

const read_every_ms = 1_000
/** Of all time, so much goes into reading their sizes at most: a tenth. */
const rests_per_round = 9
const sizes_per_turn = 400

/** Throws Grown when a file is larger than `bytes_max` meanwhile. */
export async function unlessGrown<Value>(
  paths: readonly string[],
  bytes_max: number,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const [grown, over] = [new AbortController(), new AbortController()]
  const watching = watch(paths, bytes_max, grown, over.signal)
  try {
    return await work(grown.signal)
  } catch (error) {
    throw grown.signal.aborted ? grown.signal.reason : error
  } finally {
    over.abort()
    await watching
  }
}

async function watch(paths: readonly string[], bytes_max: number, grown: AbortController, over: AbortSignal) {
  for (let rest_ms = read_every_ms; ;) {
    await pause(rest_ms, undefined, { signal: over }).catch(() => undefined)
    const began = performance.now()
    for (const [at, path] of paths.entries()) {
      if (at % sizes_per_turn === 0) await others()
      if (over.aborted) return
      if ((lstatSync(path, { throwIfNoEntry: false })?.size ?? 0) > bytes_max) return grown.abort(new Grown(path))
    }
    if (over.aborted) return
    rest_ms = Math.max(read_every_ms, rests_per_round * (performance.now() - began))
  }
}
