// A repository in an S3 server, metadata in a PostgreSQL of the operator's: both come back. The S3 server is the one of the Kubernetes rig.
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listRestorable } from '#server/backup/restore-list.ts'
import { restoreInstallation } from '#server/backup/restore.ts'
import { parseBackupTarget } from '#server/backup-target.ts'
import { newLog } from '#server/log.ts'
import { startServer } from '#server/main.ts'
import { newCall } from '#test/call.ts'
import { ask } from '#test/database.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { startInstallation, type TestInstallation } from '#test/installation.ts'
import { newServicePorts } from '#test/ports.ts'
import { startTestStore, type TestStore } from '#test/store/test-store.ts'
import { until } from '#test/until.ts'
import { has_restic, initFor, untilCopied } from './copied.ts'

const rig = join(homedir(), '.cache', 'howdah-rig', 'bin')
const name = existsSync(rig) ? readdirSync(rig).find((one) => one.startsWith('s3-')) : undefined
const lacks = !has_restic ? 'restic is not installed' : name === undefined ? `no S3 server is in ${rig}` : ''
const why = lacks && ` (skipped: ${lacks})`
const folder = newDataDir()
const port = newServicePorts().first
const secrets = { aws_access_key_id: 'howdah', aws_secret_access_key: 'a-secret-of-a-test' }
const target = parseBackupTarget(`s3://backups/here?endpoint=http://127.0.0.1:${port}`) ?? expect.fail()
let s3: ChildProcess | undefined
let store: TestStore | undefined
let howdah: TestInstallation | undefined
const found = newDataDir()

beforeAll(async () => {
  if (lacks) return
  mkdirSync(join(folder, 'backups'))
  const env = { ROOT_ACCESS_KEY: secrets.aws_access_key_id, ROOT_SECRET_KEY: secrets.aws_secret_access_key }
  s3 = spawn(join(rig, name ?? ''), ['--port', `127.0.0.1:${port}`, 'posix', folder], { env, stdio: 'ignore' })
  await until(() => fetch(`http://127.0.0.1:${port}/`).then(() => true), { what: 'the S3 server answers' })
  store = await startTestStore()
})

afterAll(async () => {
  await howdah?.stop()
  await removeDataDir(found)
  s3?.kill('SIGKILL')
  await store?.stop()
  await removeDataDir(folder)
})

test.skipIf(why)(`an installation comes back from S3 into another outside store${why}`, async () => {
  const stores = store ?? expect.fail()
  const config = { backup_to: target, backup_lag: 10, ...secrets, database_url: await stores.newDatabase() }
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
  const listed = await listRestorable({ config: own, from: target, recovery_key })
  expect(listed).toMatchObject([{ service_id: made.service_id, name: 'shop' }])
  const parts = { log: newLog('silent'), tell: () => undefined, enter: async () => undefined }
  const spec = { config: own, from: target, recovery_key, services: [], ...parts }
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
