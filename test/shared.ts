// What the tests of one file share, such as an installation: there when the first begins, and ended after the last.
import { afterAll, beforeAll } from 'vitest'

type Ended = { stop?(): Promise<void>; close?(): Promise<void> }

/** Has no members before the first test. What is opened later is ended first. */
export function shared<Thing extends Ended>(open: () => Thing | Promise<Thing>): Thing {
  const thing = {} as Thing // no test runs before it is whole
  beforeAll(async () => {
    Object.defineProperties(thing, Object.getOwnPropertyDescriptors(await open()))
  })
  afterAll(async () => {
    await thing.stop?.()
    await thing.close?.()
  })
  return thing
}
