// A restore that dies while it writes down, or removes, what says how far it is: repeated, it goes on.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { restoreInstallation, type RestoreSpec } from '#server/backup/restore.ts'
import { listRuns } from '#server/backup/restic.ts'
import { parseBackupTarget } from '#server/backup-target.ts'
import { newLog } from '#server/log.ts'
import { openDb } from '#server/store/db.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { mountDisk, newDataDirOnDisk, removeDataDirOnDisk, unmountDisk } from '#test/disk.ts'
import { startInstallation } from '#test/installation.ts'
import { newLossyDisk } from '#test/lossy-disk.ts'
import { startTestStore, type TestStore } from '#test/store/test-store.ts'
import { until } from '#test/until.ts'
import { has_restic, initFor, resticFor, why as why_no_restic } from './copied.ts'

const away = newDataDirOnDisk(100)
const disk = newLossyDisk({ size: '400M', shares_blocks: false })
const why = has_restic ? away.why : why_no_restic
const why_no_disk = why || disk.why
const from = parseBackupTarget(`file://${away.disk}/repository`) ?? expect.fail()
let store: TestStore | undefined
let spec: RestoreSpec

beforeAll(async () => {
  if (why) return
  store = await startTestStore()
  const first = { backup_to: from, backup_lag: 10, database_url: await store.newDatabase() }
  const made = await startInstallation({ config: first })
  const { config } = made
  const recovery_key = await initFor(config)
  const restic = await resticFor(config)
  await until(async () => (await listRuns(restic)).some(({ tags }) => tags.includes('meta')), { what: 'it is copied' })
  await made.stop()
  const parts = { log: newLog('silent'), tell: () => undefined, enter: async () => undefined }
  spec = { config, from, recovery_key, services: [], ...parts }
})

afterAll(async () => {
  await store?.stop()
  disk.remove()
  if (away.mounted) await removeDataDirOnDisk(away.data_dir, away.disk)
})

async function newSpec(data_dir = newDataDir()): Promise<RestoreSpec> {
  onTestFinished(() => removeDataDir(data_dir))
  const database_url = (await store?.newDatabase()) ?? expect.fail()
  return { ...spec, config: { ...spec.config, data_dir, database_url } }
}

/** What is in use is not removed. */
const busyIn = ({ config }: RestoreSpec) => join(config.data_dir, 'restoring', 'meta', 'backup', 'busy')

test.skipIf(why)(
  `a restore that dies while it removes what it fetched has ended when it is repeated${why}`,
  async () => {
    const own = await newSpec()
    const enter = async () => void mountDisk(busyIn(own), 1)
    await expect(restoreInstallation({ ...own, enter })).rejects.toThrow('EBUSY')
    unmountDisk(busyIn(own))
    await restoreInstallation(own)
    expect(existsSync(join(own.config.data_dir, 'restoring'))).toBe(false)
  },
)

test.skipIf(why)(`a service that is misspelt binds nothing, also when the refusal dies${why}`, async () => {
  const own = await newSpec()
  const misspelt = { ...own, services: ['unknown123'] }
  const tell = () => void mountDisk(busyIn(own), 1)
  await expect(restoreInstallation({ ...misspelt, tell })).rejects.toThrow('EBUSY')
  unmountDisk(busyIn(own).replace('/meta/', '/meta.new/'))
  await expect(restoreInstallation(misspelt)).rejects.toThrow('there is no service unknown123')
  await restoreInstallation(own)
})

test.skipIf(why_no_disk)(`a restore into an outside store goes on after a loss of power${why_no_disk}`, async () => {
  const own = await newSpec(join(disk.path, 'data'))
  const db = openDb(own.config.database_url ?? expect.fail())
  onTestFinished(() => db.close())
  await db.query(`create function refuse() returns event_trigger language plpgsql as $$
    begin if to_regclass('migrations') is not null then raise 'the machine has no power'; end if; end $$`)
  await db.query(
    `create event trigger refuse on ddl_command_start when tag in ('CREATE TABLE') execute function refuse()`,
  )
  await expect(restoreInstallation(own)).rejects.toThrow('no power')
  disk.losePower()
  await disk.mount()
  await db.query('drop event trigger refuse')
  await restoreInstallation(own)
})
