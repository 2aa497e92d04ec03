// Starting and starting again, by the front door.
import { afterEach, expect, test } from 'vitest'
import { startServer, stopEverything } from '#server/main.ts'
import { listPids } from '#test/data-dir.ts'
import { type TestInstallation, startInstallation } from '#test/installation.ts'
import { until } from '#test/until.ts'

let howdah: TestInstallation | undefined

afterEach(async () => {
  await howdah?.stop()
  howdah = undefined
})

test('the first start gives a token that works, and the second start gives none and finds everything again', async () => {
  howdah = await startInstallation()
  const before = await howdah.createService({ name: 'kept' })
  expect(howdah.token).toMatch(/^[A-Z0-9]+\.[\w-]+$/)

  await howdah.restart()

  expect(howdah.server.first_token).toBeUndefined()
  expect(howdah.server.project_id).toBe(howdah.project_id)
  const after = await howdah.untilStatus(before.service_id, 'READY')
  expect(after.body).toMatchObject({ name: 'kept', endpoint: before.endpoint })
})

test('health, readiness, the CA certificate and the API description are public', async () => {
  howdah = await startInstallation()
  const { url, api_url } = howdah.server
  for (const address of [`${url}/healthz`, `${url}/readyz`, `${api_url}/ca.pem`, `${api_url}/openapi.json`]) {
    expect((await fetch(address)).status, address).toBe(200)
  }
})

test('a port that is in use is named in a sentence, and nothing is left running by the failed start', async () => {
  howdah = await startInstallation()
  const { config } = howdah
  const port = Number(new URL(howdah.server.url).port)
  await expect(startServer({ ...config, port })).rejects.toThrow(
    `port ${port} of 127.0.0.1 is in use; stop the program that has it, or choose another port with --port`,
  )
  expect((await howdah.call('GET', '/projects')).status).toBe(200)
})

test('a server with another data directory may not take itself for the same region of one store', async () => {
  howdah = await startInstallation()
  const store = howdah.config.data_dir
  const database_url = `postgres://postgres@/postgres?host=${encodeURIComponent(`${store}/store/run`)}`
  await expect(startInstallation({ config: { database_url } })).rejects.toThrow(
    'the region local of this metadata store belongs to another data directory',
  )
})

test('a request that waits when the server is told to stop gets its answer first', async () => {
  const gate = Promise.withResolvers<void>()
  const reached = Promise.withResolvers<void>()
  let armed = false
  const running = (howdah = await startInstallation({
    effect: async (name) => {
      if (!armed || name !== 'master role: set verifier') return
      reached.resolve()
      await gate.promise
    },
  }))
  const { service_id } = await running.createService()
  armed = true
  const path = `${running.services}/${service_id}/updatePassword`
  const answer = running.call('POST', path, { password: 'a new password' })
  await reached.promise
  const closing = running.server.close()
  gate.resolve()
  expect((await answer).status).toBe(204)
  await closing
})

test('stopping everything ends every database and the store, and the next start brings them back', async () => {
  howdah = await startInstallation()
  const { service_id } = await howdah.createService()
  const { config } = howdah
  await howdah.server.close()
  expect(listPids(config.data_dir)).not.toEqual([])

  await stopEverything(config)
  // A postmaster that has ended may leave its log writer behind for a moment.
  await until(() => listPids(config.data_dir).length === 0)

  await howdah.restart()
  await howdah.untilStatus(service_id, 'READY')
})
