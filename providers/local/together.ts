// Two things at once whose caller goes on when both are over, however they end: nothing happens behind its back.

/** A failure is thrown when neither goes on any more. */
export async function together<A, B>(one: Promise<A>, other: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([one, other])
  return [await one, await other]
}
