// Reads that arrive together are asked together: while a question is under way, the keys that come in wait and make up
// the next one. Everybody gets an answer to a question that was asked after they came, so nobody reads the past; a
// lone reader is asked for at once.

/** How many questions are under way at once: one is answered while the next is being prepared. */
const at_once_max = 2
const keys_max = 500

type Waiting<Value> = {
  key: string
  resolve: (value: Value | undefined) => void
  reject: (error: unknown) => void
}

export function newBatch<Value>(
  ask: (keys: readonly string[]) => Promise<ReadonlyMap<string, Value>>,
): (key: string) => Promise<Value | undefined> {
  let waiting: Waiting<Value>[] = []
  let under_way = 0
  const next = () => {
    if (under_way === at_once_max || waiting.length === 0) return
    const batch = waiting.slice(0, keys_max)
    waiting = waiting.slice(keys_max)
    under_way += 1
    ask([...new Set(batch.map(({ key }) => key))])
      .then(
        (found) => batch.forEach(({ key, resolve }) => resolve(found.get(key))),
        (error: unknown) => batch.forEach(({ reject }) => reject(error)),
      )
      .finally(() => {
        under_way -= 1
        next()
      })
  }
  return (key) =>
    new Promise((resolve, reject) => {
      waiting.push({ key, resolve, reject })
      next()
    })
}
