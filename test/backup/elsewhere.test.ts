// A repository in an S3 server, metadata in a PostgreSQL of the operator's: both come back.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listRestorable } from '#server/backup/restore-list.ts'
import { restoreInstallation } from '#server/backup/restore.ts'
import { newLog } from '#server/log.ts'
import { startServer } from '#server/main.ts'
import { newCall } from '#test/call.ts'
import { ask } from '#test/database.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { startInstallation, type TestInstallation } from '#test/installation.ts'
import { startTestStore, type TestStore } from '#test/store/test-store.ts'
import { until } from '#test/until.ts'
import { initFor, untilCopied } from './copied.ts'
import { newS3, secrets, why_no_s3 } from './s3.ts'

const s3 = newS3()
let store: TestStore | undefined
let howdah: TestInstallation | undefined
const found = newDataDir()

beforeAll(async () => {
  if (why_no_s3) return
  await s3.start()
  store = await startTestStore()
})

afterAll(async () => {
  await howdah?.stop()
  await removeDataDir(found)
  await s3.remove()
  await store?.stop()
})

test.skipIf(why_no_s3)(`an installation comes back from S3 into another outside store${why_no_s3}`, async () => {
  const stores = store ?? expect.fail()
  const config = { backup_to: s3.target, backup_lag: 10, ...secrets, database_url: await stores.newDatabase() }
  howdah = await startInstallation({ config })
  const recovery_key = await initFor(howdah.config)
  const made = await howdah.createService({ name: 'shop', cpu_millis: 'shared' })
  const sql = (text: string) => ask(howdah?.server.api_url ?? '', made, made.initial_password, text)
  await sql('create table orders as select n from generate_series(1, 500) n')
  await untilCopied(howdah.call, `${howdah.services}/${made.service_id}`)
  const { token, services, config: lost } = howdah
  await howdah.stop()
  howdah = undefined

  const own = { ...lost, data_dir: found, database_url: await stores.newDatabase() }
  const listed = await listRestorable({ config: own, from: s3.target, recovery_key })
  expect(listed).toMatchObject([{ service_id: made.service_id, name: 'shop' }])
  const parts = { log: newLog('silent'), tell: () => undefined, enter: async () => undefined }
  const spec = { config: own, from: s3.target, recovery_key, services: [], ...parts }
  await expect(restoreInstallation({ ...spec, config: { ...own, database_url: lost.database_url } })).rejects.toThrow(
    'the database of DATABASE_URL is not empty',
  )
  await restoreInstallation(spec)
  const server = await startServer(own, { log: newLog('silent'), spares: 0 })
  try {
    const call = newCall(server.api_url, token)
    await until(async () => (await call('GET', `${services}/${made.service_id}`)).body.status === 'READY')
    expect(await ask(server.api_url, made, made.initial_password, 'select count(*) from orders')).toEqual(['500'])
  } finally {
    await server.close()
  }
})
