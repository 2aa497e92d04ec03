// Readers who never stop: each read is a login of its own at the set's endpoint, and is tried again at once when it fails.
import type { LocalProvider } from '#providers/local/local.ts'
import type { WantedReplicaSet } from '#providers/provider.ts'
import { readFrom } from './set-fixture.ts'

export type Readers = {
  /** How many attempts each read needed. */
  attempts: readonly number[]
  /** Ends them after the reads that are under way. */
  end(): Promise<void>
}

/** Beyond it a reader gives up, and its test fails. */
const attempts_max = 50

export function startReaders(provider: LocalProvider, set: WantedReplicaSet, sql: string, count = 2): Readers {
  const attempts: number[] = []
  const ending = new AbortController()
  const read = async () => {
    for (let attempt = 1; ; attempt++) {
      try {
        await readFrom(provider, set, sql)
        attempts.push(attempt)
        return
      } catch (error) {
        if (attempt === attempts_max) throw error
      }
    }
  }
  const reader = async () => {
    while (!ending.signal.aborted) await read()
  }
  const readers = Promise.all(Array.from({ length: count }, reader))
  // Reported by `end`; until then no caller awaits it.
  readers.catch(() => undefined)
  return {
    attempts,
    end: async () => {
      ending.abort()
      await readers
    },
  }
}
