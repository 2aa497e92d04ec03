// Answers of the store that are believed for a moment: who a credential speaks for, which role a member has. Promises:
// 1. An answer is at most three seconds old; so a change takes effect within that time, in every server process.
// 2. forget() drops everything, reads under way included: an answer after it contains all that was committed before it.
// 3. Only valid credentials and roles are remembered: a token made a moment after a failed try works at once. Memory is bounded.
const trust_ms = 3_000
const answers_max = 10_000

/** until: when it may be believed at most (a credential's own expiry). */
export type Found<T> = { value: T; until?: Date | null }

type Trust<T> = {
  /** The remembered answer, or what `read` finds. Requests that come while it reads share its answer. */
  ask(key: string, read: () => Promise<Found<T> | undefined>): Promise<T | undefined>
  forget(): void
}

type Answer<T> = { value: Promise<T | undefined>; until: number }

export function newTrust<T>(now: () => number = () => performance.now()): Trust<T> {
  // Insertion order is age: the oldest leave first.
  const answers = new Map<string, Answer<T>>()

  const settle = async (answer: Answer<T>, key: string, read: () => Promise<Found<T> | undefined>) => {
    const read_at = now()
    const drop = () => {
      if (answers.get(key) === answer) answers.delete(key)
    }
    const found = await read().catch((error: unknown) => {
      drop()
      throw error
    })
    if (found === undefined) drop()
    else answer.until = read_at + Math.min(trust_ms, (found.until?.getTime() ?? Infinity) - Date.now())
    return found?.value
  }

  return {
    ask: (key, read) => {
      const known = answers.get(key)
      if (known !== undefined && known.until > now()) return known.value
      answers.delete(key)
      const answer: Answer<T> = { value: Promise.resolve(undefined), until: now() + trust_ms }
      answers.set(key, answer)
      answer.value = settle(answer, key, read)
      for (const oldest of answers.keys()) {
        if (answers.size <= answers_max) break
        answers.delete(oldest)
      }
      return answer.value
    },
    forget: () => answers.clear(),
  }
}
