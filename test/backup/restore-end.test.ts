// A restore that dies at its very end, while what it has fetched is removed: repeated, it is over.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, onTestFinished, test } from 'vitest'
import { restoreInstallation } from '#server/backup/restore.ts'
import { listRuns } from '#server/backup/restic.ts'
import { parseBackupTarget } from '#server/backup-target.ts'
import { newLog } from '#server/log.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { mountDisk, newDataDirOnDisk, removeDataDirOnDisk, unmountDisk } from '#test/disk.ts'
import { startInstallation } from '#test/installation.ts'
import { startTestStore } from '#test/store/test-store.ts'
import { until } from '#test/until.ts'
import { has_restic, initFor, resticFor, why as why_no_restic } from './copied.ts'

const away = newDataDirOnDisk(100)
const why = has_restic ? away.why : why_no_restic
const from = parseBackupTarget(`file://${away.disk}/repository`) ?? expect.fail()

afterAll(() => (away.mounted ? removeDataDirOnDisk(away.data_dir, away.disk) : undefined))

test.skipIf(why)(
  `a restore that dies while it removes what it fetched has ended when it is repeated${why}`,
  async () => {
    const [found, store] = [newDataDir(), await startTestStore()]
    onTestFinished(async () => {
      await removeDataDir(found)
      await store.stop()
    })
    const first = { backup_to: from, backup_lag: 10, database_url: await store.newDatabase() }
    const { config, stop } = await startInstallation({ config: first })
    const recovery_key = await initFor(config)
    const restic = await resticFor(config)
    await until(async () => (await listRuns(restic)).some(({ tags }) => tags.includes('meta')), {
      what: 'it is copied',
    })
    await stop()

    const spec = {
      config: { ...config, data_dir: found, database_url: await store.newDatabase() },
      from,
      recovery_key,
      services: [],
      log: newLog('silent'),
      tell: () => undefined,
      enter: async () => undefined,
    }
    // What is in use is not removed.
    const busy = join(found, 'restoring', 'meta', 'backup', 'busy')
    const enter = async () => void mountDisk(busy, 1)
    await expect(restoreInstallation({ ...spec, enter })).rejects.toThrow('EBUSY')
    unmountDisk(busy)
    await restoreInstallation(spec)
    expect(existsSync(join(found, 'restoring'))).toBe(false)
  },
)
