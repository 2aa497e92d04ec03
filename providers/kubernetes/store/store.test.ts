// The keys of the object store: read anew now and then, and those that were read last serve while the cluster does not answer.
import { afterEach, expect, test, vi } from 'vitest'
import { NoAnswer } from '../api/errors.ts'
import type { Thing } from '../api/kinds.ts'
import { parseStore } from './settings.ts'
import { openStore, StoreTrouble } from './store.ts'

afterEach(() => {
  vi.useRealTimers()
})

function secretOf(version: string): Thing {
  const data = { ACCESS_KEY_ID: btoa('id'), ACCESS_SECRET_KEY: btoa('hidden') }
  return Object.assign({ metadata: { name: 'keys', resourceVersion: version } }, { data })
}

test('keys are read anew after a minute; those before serve while the cluster is silent, and not when their Secret is gone', async () => {
  vi.useFakeTimers({ toFake: ['performance'] })
  let answer = async (): Promise<Thing | undefined> => secretOf('1')
  const members = { path: 's3://bucket/here', endpoint: 'http://127.0.0.1:1', secret: 'system/keys' }
  const settings = parseStore(members, (problem) => expect.fail(problem))
  if (settings === undefined) throw new Error('these are settings')
  const store = openStore({ find: () => answer() }, settings)
  const versionLater = async () => {
    vi.advanceTimersByTime(61_000)
    return (await store.keys()).version
  }
  expect(await versionLater()).toBe('1')
  answer = async () => Promise.reject(new NoAnswer('no answer within 5 s'))
  expect(await versionLater()).toBe('1')
  answer = async () => secretOf('2')
  expect(await versionLater()).toBe('2')
  answer = async () => undefined
  await expect(versionLater()).rejects.toThrow(StoreTrouble)
})
