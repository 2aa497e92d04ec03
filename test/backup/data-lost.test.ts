// The data directory of a service is lost while the server goes on, and copies what the others write: when the installation is restored
// from its repository, that service has all that it ever had, and no less because its WAL could not be made ready at the end.
import { readFileSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listRuns } from '#server/backup/restic.ts'
import { restoreInstallation } from '#server/backup/restore.ts'
import { parseBackupTarget } from '#server/backup-target.ts'
import { newLog } from '#server/log.ts'
import { startServer } from '#server/main.ts'
import { newCall } from '#test/call.ts'
import { ask } from '#test/database.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { newTestConfig, type ReadyService, startInstallation, type TestInstallation } from '#test/installation.ts'
import { newServicePorts } from '#test/ports.ts'
import { momentNow, until } from '#test/until.ts'
import { has_restic, initFor, resticFor, untilCopied, why } from './copied.ts'

const nowhere = newDataDir()
const backup_to = parseBackupTarget(`file://${nowhere}/repository`) ?? expect.fail()
const service_ports = newServicePorts()
const found = newDataDir()
let howdah: TestInstallation | undefined

beforeAll(async () => {
  if (has_restic) howdah = await startInstallation({ config: { backup_to, backup_lag: 12, service_ports } })
})

afterAll(async () => {
  await howdah?.stop()
  for (const folder of [nowhere, found]) await removeDataDir(folder)
})

test.skipIf(why)(
  `a service whose data is lost comes back with its last commits, and as of a moment${why}`,
  async () => {
    const own = howdah ?? expect.fail()
    const recovery_key = await initFor(own.config)
    const [shop, other] = [
      await own.createService({ name: 'shop', cpu_millis: 'shared' }),
      await own.createService({ name: 'other', cpu_millis: 'shared' }),
    ]
    const at = (service: ReadyService) => `${own.services}/${service.service_id}`
    const inside = (service: ReadyService, text: string) =>
      ask(own.server.api_url, service, service.initial_password, text)
    await inside(shop, 'create table t as select 1 as n')
    await untilCopied(own.call, at(shop))
    await inside(shop, 'insert into t values (2)')
    await untilCopied(own.call, at(shop))
    await untilCopied(own.call, at(other))

    await own.server.close()
    const data = join(own.config.data_dir, 'local', 'services', shop.service_id, 'data')
    process.kill(Number(readFileSync(join(data, 'postmaster.pid'), 'utf8').split('\n')[0]), 'SIGKILL')
    const lost = `${data}.lost`
    renameSync(data, lost)
    await own.restart()
    const restic = await resticFor(own.config)
    const walRuns = async () => (await listRuns(restic)).filter(({ tags }) => tags.includes('wal')).length
    const runs = await walRuns()
    await inside(other, 'create table t as select 1 as n')
    await until(async () => (await walRuns()) > runs, { what: 'what the other service wrote is copied' })
    const moment = await momentNow()
    await own.stop()
    howdah = undefined

    for (const wanted of [undefined, moment]) {
      await removeDataDir(found)
      const config = newTestConfig({ data_dir: found, service_ports })
      const parts = { log: newLog('silent'), tell: () => undefined, enter: async () => undefined }
      await restoreInstallation({ config, from: backup_to, recovery_key, at: wanted, services: [], ...parts })
      const server = await startServer(config, { log: newLog('silent'), spares: 0 })
      try {
        const call = newCall(server.api_url, own.token)
        await until(async () => (await call('GET', at(shop))).body.status === 'READY')
        expect(await ask(server.api_url, shop, shop.initial_password, 'select n from t order by n')).toEqual(['1', '2'])
      } finally {
        await server.close()
        await removeDataDir(found)
      }
    }
  },
)
