// A server that somebody has stopped (SIGSTOP) neither answers nor refuses: whoever asks it something would wait until the
// patience for a busy server is over, and a look that waits cannot replace it. Here is who tells them.
import { isStopped } from '../../host/daemon.ts'
import type { Node } from '../host/layout.ts'
import { readText } from '../host/tenant-files.ts'

export class StandsStill extends Error {
  override readonly name = 'StandsStill'
  override readonly message = 'PostgreSQL was stopped by somebody and does not answer'
}

/** Long enough that most conversations are over before anybody looks. */
const poll_every_ms = 250

/** The work is told by the signal when the server with which it speaks stands still, and is expected to end. */
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
