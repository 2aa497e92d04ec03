// What the cache makes of watches that an API server seldom gives: ended at once, and with news of an object that another one has replaced.
import { once } from 'node:events'
import { setImmediate as turn } from 'node:timers/promises'
import { expect, onTestFinished, test } from 'vitest'
import { openCache } from './cache.ts'
import type { Selection, WatchEvent } from './client.ts'

function open(watch: (selection: Selection, signal: AbortSignal) => AsyncGenerator<WatchEvent>) {
  const cache = openCache({
    client: {
      list: async () => ({ items: [], resource_version: '1' }),
      watch: (selection, _version, signal) => watch(selection, signal),
    },
    label_selector: 'of=us',
    owner_label: 'owner',
    has_store: false,
    log: () => undefined,
  })
  onTestFinished(() => cache.close())
  return cache
}

test('watches that end at once are not begun again as fast as they end', async () => {
  let watches = 0
  open(async function* () {
    watches += 1
    await turn()
    yield* []
  })
  for (let turns = 0; turns < 500; turns += 1) await turn()
  expect(watches).toBeLessThan(100)
})

const clusterOf = (uid: string, version: number) => ({
  kind: 'Cluster',
  metadata: { name: 'one', namespace: 'n', uid, resourceVersion: String(version) },
})

test('late news of an object does not replace the one that was made after it', async () => {
  const [said, heard] = [Promise.withResolvers<undefined>(), Promise.withResolvers<undefined>()]
  const cache = open(async function* ({ kind }, signal) {
    if (kind === 'Cluster') {
      await said.promise
      yield { type: 'MODIFIED', object: clusterOf('before', 7) }
      heard.resolve(undefined)
    }
    await once(signal, 'abort')
  })
  cache.saw(clusterOf('after', 9))
  said.resolve(undefined)
  await heard.promise
  expect(cache.find('Cluster', { namespace: 'n', name: 'one' })?.metadata.uid).toBe('after')
})
