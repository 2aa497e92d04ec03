// A service that was rewound comes back from its repository as it was at each moment: on the state that it left, and on the one that it
// went on with, also while the newest snapshot in the repository is one of the state that it left.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listRuns } from '#server/backup/restic.ts'
import { restoreInstallation } from '#server/backup/restore.ts'
import { takenOf } from '#server/backup/runs.ts'
import { parseBackupTarget } from '#server/backup-target.ts'
import { newLog } from '#server/log.ts'
import { startServer } from '#server/main.ts'
import { type Call, newCall } from '#test/call.ts'
import { ask } from '#test/database.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { newTestConfig, type ReadyService, startInstallation, type TestInstallation } from '#test/installation.ts'
import { newServicePorts } from '#test/ports.ts'
import { momentNow, until } from '#test/until.ts'
import { has_restic, initFor, resticFor, untilCopied, why } from './copied.ts'
import { drill } from './drilling.ts'

const nowhere = newDataDir()
const backup_to = parseBackupTarget(`file://${nowhere}/repository`) ?? expect.fail()
const service_ports = newServicePorts()
const found = newDataDir()
let howdah: TestInstallation | undefined
let shop: ReadyService
let token = ''
let at = ''
let recovery_key = ''
let before_rewind: Date

beforeAll(async () => {
  if (!has_restic) return
  const own = await startInstallation({ config: { backup_to, backup_lag: 12, service_ports } })
  howdah = own
  recovery_key = await initFor(own.config)
  shop = await own.createService({ name: 'shop', cpu_millis: 'shared' })
  token = own.token
  at = `${own.services}/${shop.service_id}`
})

afterAll(async () => {
  await howdah?.stop()
  for (const folder of [nowhere, found]) await removeDataDir(folder)
})

const rowsOf = async (api_url: string, database = shop) =>
  (await ask(api_url, database, database.initial_password, 'select n from t order by n')).join()

test.skipIf(why)(`right after a rewind a drill restores the state that the service has${why}`, async () => {
  const own = howdah ?? expect.fail()
  const commit = async (n: number) => {
    await ask(own.server.api_url, shop, shop.initial_password, `insert into t values (${n})`)
    return await momentNow()
  }
  await ask(own.server.api_url, shop, shop.initial_password, 'create table t (n int)')
  await untilCopied(own.call, at)
  const after_1 = await commit(1)
  await commit(2)
  await own.call('POST', `${at}/snapshots`)
  const copiedAt = async () => Date.parse((await own.call('GET', at)).body.protection?.last_backup_at ?? '')
  const second = await until(async () => (await copiedAt()) > after_1.getTime() && copiedAt(), {
    what: 'the second snapshot is in the repository',
  })
  await commit(3)
  before_rewind = await momentNow()
  await own.call('POST', `${at}/rewind`, { target_time: after_1.toISOString() })
  await own.untilStatus(shop.service_id, 'READY')
  await commit(4)
  await untilCopied(own.call, at)
  const isComplete = async () =>
    (await own.call<{ status: string }[]>('GET', `${at}/snapshots`)).body.every(({ status }) => status === 'complete')
  await until(isComplete, { what: 'the states before and after the rewind are kept' })
  const { last_snapshot_at = '' } = (await own.call('GET', at)).body.protection ?? {}
  await until(async () => (await copiedAt()) === Date.parse(last_snapshot_at), {
    what: 'the last is in the repository',
  })
  // As it was before that one was copied.
  const restic = await resticFor(own.config)
  const later = (await listRuns(restic)).filter(({ tags }) => takenOf(tags) > second)
  await restic(['forget', ...later.map((run) => run.id)], { timeout_seconds: 60 })
  expect(await drill(own, shop)).toBeUndefined()
  await own.stop()
  howdah = undefined
})

test.skipIf(why)(`it comes back as it was last, is not rewound again, and all its moments with it${why}`, async () => {
  await withRestored(undefined, async (call, api_url) => {
    expect(await rowsOf(api_url)).toBe('1,4')
    const rewinds = (await call<{ message: string }[]>('GET', `${at}/events?kinds=rewound`)).body
    expect(rewinds).toHaveLength(1)
    expect(await call('POST', `${at}/undoRewind`)).toMatchObject({ status: 409 })
    const fork = { fork_strategy: 'PITR', target_time: before_rewind.toISOString() }
    const forked = (await call<ReadyService>('POST', `${at}/forkService`, fork)).body
    await ready(call, forked)
    expect(await rowsOf(api_url, forked)).toBe('1,2,3')
  })
})

test.skipIf(why)(`it comes back as it was before the rewind${why}`, async () => {
  await withRestored(before_rewind, async (_, api_url) => expect(await rowsOf(api_url)).toBe('1,2,3'))
})

async function withRestored(moment: Date | undefined, work: (call: Call, api_url: string) => Promise<unknown>) {
  await removeDataDir(found)
  const config = newTestConfig({ data_dir: found, service_ports })
  const parts = { log: newLog('silent'), tell: () => undefined, enter: async () => undefined }
  await restoreInstallation({ config, from: backup_to, recovery_key, at: moment, services: [], ...parts })
  const server = await startServer(config, { log: newLog('silent'), spares: 0 })
  try {
    const call = newCall(server.api_url, token)
    await ready(call, shop)
    await work(call, server.api_url)
  } finally {
    await server.close()
    await removeDataDir(found)
  }
}

async function ready(call: Call, { service_id }: ReadyService): Promise<void> {
  const one = `${at.slice(0, at.lastIndexOf('/'))}/${service_id}`
  await until(async () => (await call('GET', one)).body.status === 'READY')
}
