// A server that is stopped (SIGSTOP) neither answers nor refuses: its caller would wait as long as for a busy server, and a
// waiting pass cannot replace it. A poll tells the caller.
import { isStopped } from '../../host/daemon.ts'
import type { Node } from '../host/layout.ts'
import { readText } from '../host/tenant-files.ts'

export class StandsStill extends Error {
  override readonly name = 'StandsStill'
  override readonly message = 'PostgreSQL is stopped (SIGSTOP) and does not answer; continue it with SIGCONT'
}

/** Most sessions are over before the first poll. */
const poll_every_ms = 250

/** The signal tells the work that its server is stopped; the work is expected to end then. */
export async function unlessStill<T>(node: Node, work: (still: AbortSignal) => Promise<T>): Promise<T> {
  const still = new AbortController()
  const timer = setInterval(() => {
    if (standsStill(node)) still.abort(new StandsStill())
  }, poll_every_ms)
  try {
    return await work(still.signal)
  } catch (error) {
    throw still.signal.aborted ? still.signal.reason : error
  } finally {
    clearInterval(timer)
  }
}

function standsStill({ data }: Node): boolean {
  try {
    return isStopped(Number.parseInt(readText(data, 'postmaster.pid') ?? ''))
  } catch {
    return false
  }
}
