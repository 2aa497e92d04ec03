// What the tests of backups share: a repository for an installation, and waiting until it has what was committed.
import { spawnSync } from 'node:child_process'
import type { Config } from '#server/config.ts'
import { initRepository, resticOf } from '#server/backup/repository.ts'
import { openInstallation } from '#server/installation.ts'
import type { Call } from '#test/call.ts'
import { until } from '#test/until.ts'

export const has_restic = spawnSync('restic', ['version']).error === undefined
/** For the name of a test that is skipped. */
export const why = has_restic ? '' : ' (skipped: restic is not installed)'

type Known = Pick<Config, 'data_dir' | 'backup_to' | 'aws_access_key_id' | 'aws_secret_access_key'>

export async function placeOf({ data_dir, backup_to, aws_access_key_id, aws_secret_access_key }: Known) {
  if (backup_to === undefined) throw new Error('the test names no repository')
  const { installation_id } = await openInstallation(data_dir)
  return { installation_id, data_dir, target: backup_to, secrets: { aws_access_key_id, aws_secret_access_key } }
}

/** Returns the recovery key. */
export const initFor = async (config: Known) => initRepository(await placeOf(config))

export const resticFor = async (config: Known) => resticOf(await placeOf(config))

/** Until everything that was committed before the call is in the repository, and a snapshot. */
export async function untilCopied(call: Call, at: string): Promise<void> {
  const begun = Date.now()
  await until(
    async () => {
      const { protection } = (await call('GET', at)).body
      const lag_ms = (protection?.backup_lag_seconds ?? Infinity) * 1000 + 500
      return protection?.last_backup_at !== undefined && Date.now() - lag_ms > begun
    },
    { what: `${at} is copied` },
  )
}
