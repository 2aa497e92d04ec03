// The metadata store goes away under a running server: callers see 200 or a 503 that says when to repeat, nothing else,
// and no intent that was acknowledged is lost.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { startInstallation, type TestInstallation } from '#test/installation.ts'
import { startTestStore, type TestStore } from '#test/store/test-store.ts'
import { pidIn } from '#test/traces.ts'
import { until } from '#test/until.ts'

let howdah: TestInstallation | undefined
let store: TestStore | undefined

afterEach(async () => {
  await howdah?.stop()
  await store?.stop()
  howdah = store = undefined
})

test('an embedded store that is killed under load comes back, with 503 meanwhile and no lost intent', async () => {
  const running = (howdah = await startInstallation())
  const lock = join(running.config.data_dir, 'store', 'data', 'postmaster.pid')
  const pid = () => pidIn(readFileSync(lock, 'utf8'))
  await withLoad(running, async (served) => {
    for (let kill = 0; kill < 3; kill++) {
      const killed = pid()
      process.kill(killed, 'SIGKILL')
      await until(() => pid() !== killed, { what: 'the store is started again' })
      await served()
    }
  })
})

test('a store given by DATABASE_URL may be stopped, killed and started, with 503 meanwhile and no lost intent', async () => {
  const external = (store = await startTestStore())
  const running = (howdah = await startInstallation({ config: { database_url: external.url } }))
  await withLoad(running, async (served, refused) => {
    await external.stopPostgres()
    await refused()
    expect((await fetch(`${running.server.url}/readyz`)).status).toBe(503)
    expect((await fetch(`${running.server.url}/healthz`)).status).toBe(200)
    await external.startPostgres()
    await served()

    process.kill(external.postmasterPid(), 'SIGKILL')
    await refused()
    await external.startPostgres()
    await served()
  })
})

/** Reads and writes without pause during the work, then compares the answers with the store. */
async function withLoad(
  { call, services }: TestInstallation,
  work: (served: () => Promise<void>, refused: () => Promise<void>) => Promise<void>,
): Promise<void> {
  // One service, many intents: a rename is an intent that costs no PostgreSQL server.
  const { service_id } = (await call('POST', services, { name: 'loaded', cpu_millis: 'shared' })).body
  const acknowledged: string[] = []
  const surprises: unknown[] = []
  const counts = { served: 0, refused: 0 }
  const end = new AbortController()

  const one = async (method: string, path: string, body?: unknown) => {
    const answer = await call(method, path, body)
    if (answer.status === 200) counts.served++
    else if (answer.status === 503 && Number(answer.headers.get('retry-after')) > 0) counts.refused++
    else surprises.push({ method, status: answer.status, body: answer.body })
    return answer.status
  }
  const read = async () => {
    while (!end.signal.aborted) await one('GET', services)
  }
  const write = async () => {
    for (let turn = 0; !end.signal.aborted; turn++) {
      const status = await one('POST', `${services}/${service_id}/rename`, { name: `name ${turn}` })
      if (status === 200) acknowledged.push(`a rename to name ${turn}`)
    }
  }
  const moreOf = (kind: keyof typeof counts) => async () => {
    const before = counts[kind]
    await until(() => counts[kind] > before + 5, { what: `more requests are ${kind}` })
  }

  const load = Promise.all([write(), read(), read()])
  try {
    await moreOf('served')()
    await work(moreOf('served'), moreOf('refused'))
  } finally {
    end.abort()
    await load
  }
  expect(surprises).toEqual([])
  const events = await call<{ message: string }[]>('GET', `${services}/${service_id}/events`)
  expect(events.body.map(({ message }) => message)).toContain(acknowledged.at(-1))
}
