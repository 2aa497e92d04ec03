// Several things at once whose caller goes on when all have ended, however they end: none continues in the background.

/** A failure is thrown when both have ended. */
export async function together<A, B>(one: Promise<A>, other: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([one, other])
  return [await one, await other]
}

/** For calls of files: the four threads behind them are busy from here on; more gain nothing. */
const file_lanes = 16

/** Each lane has one item under way. On the first failure the lanes stop, and it is thrown when all of them have. */
export async function inLanes<Item>(
  items: readonly Item[],
  work: (item: Item) => Promise<unknown>,
  lanes = file_lanes,
): Promise<void> {
  let next = 0
  let failed = false
  const lane = async () => {
    while (!failed && next < items.length) {
      const item = items[next++] as Item // within bounds: checked above, without a pause since
      try {
        await work(item)
      } catch (error) {
        failed = true
        throw error
      }
    }
  }
  const ends = await Promise.allSettled(Array.from({ length: Math.min(lanes, items.length) }, lane))
  const failure = ends.find((end) => end.status === 'rejected')
  if (failure) throw failure.reason
}
