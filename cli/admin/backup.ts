// howdah admin backup init | status | check: the repository of an installation, by its operator.
import { openInstallation } from '#server/installation.ts'
import { CommandError, json_option } from '../command.ts'
import type { OperatorCommand, OperatorInput } from '../operator-command.ts'
import { enterInstallation } from '../store.ts'
import { printRows } from '../table.ts'

export const backupInit: OperatorCommand = {
  name: 'admin backup init',
  summary: 'Make the repository that --backup-to names, and print its recovery key.',
  details:
    'The recovery key is shown once and kept nowhere: without it, and without this machine, no backup can be read. Example:\n' +
    '  howdah admin backup init --backup-to file:///mnt/nas/howdah',
  run: async (input) => {
    const place = await placeOf(input)
    const { initRepository } = await import('#server/backup/repository.ts')
    const recovery_key = await initRepository(place)
    console.log(`The repository at ${place.target.text} is made. Its recovery key, which is shown only now:\n`)
    console.log(`  ${recovery_key}\n`)
    console.log(
      `Keep it away from this machine. A server that runs with --backup-to ${place.target.text} begins within seconds.`,
    )
  },
}

export const backupStatus: OperatorCommand = {
  name: 'admin backup status',
  summary: 'Say how far the backup of each service is.',
  options: json_option,
  run: async (input) => {
    const { config, isSet } = input
    await enterInstallation(config)
    const { backupFilesOf, findOwnRepository, findState } = await import('#server/backup/backup-files.ts')
    const files = backupFilesOf(config.data_dir)
    if ((await findOwnRepository(files)) === undefined) {
      throw new CommandError(
        'this installation has no repository; make one with howdah admin backup init --backup-to …',
      )
    }
    const state = await findState(files)
    const rows = Object.entries(state?.services ?? {}).map(([service_id, one]) => ({
      service_id,
      lag_seconds: one.wal_until === undefined ? '' : String(secondsSince(one.wal_until)),
      last_backup_at: one.last_backup_at ?? '',
      problem: one.problem ?? '',
    }))
    printRows(rows, ['service_id', 'lag_seconds', 'last_backup_at', 'problem'], isSet('json'))
    if (isSet('json')) return
    if (state === undefined) return console.log('Nothing is in it yet; a server that runs with --backup-to fills it.')
    if (state.data_problem !== undefined) console.log(`Snapshots are not copied: ${state.data_problem}`)
    if (state.damage !== undefined) console.log(`The repository is damaged: ${state.damage}`)
    console.log(
      `As of ${secondsSince(state.saved_at)} s ago${state.problem === undefined ? '.' : `: ${state.problem}`}`,
    )
  },
}

export const backupCheck: OperatorCommand = {
  name: 'admin backup check',
  summary: 'Read everything in the repository and compare it with its checksums.',
  details: 'It reads the whole repository, which takes as long as a restore. What is damaged is named.',
  run: async (input) => {
    const place = await placeOf(input)
    const { openRepository } = await import('#server/backup/repository.ts')
    const { readPacks } = await import('#server/backup/check.ts')
    const { restic, runs } = await openRepository(place)
    await readPacks(restic)
    console.log(`The repository is whole: ${runs.length} runs.`)
  },
}

async function placeOf({ config }: OperatorInput) {
  const { backup_to: target, data_dir, aws_access_key_id, aws_secret_access_key } = config
  if (target === undefined) throw new CommandError('name the repository with --backup-to file:///… or s3://…')
  await enterInstallation(config)
  const { installation_id } = await openInstallation(data_dir)
  return { data_dir, installation_id, target, secrets: { aws_access_key_id, aws_secret_access_key } }
}

const secondsSince = (time: string) => Math.round((Date.now() - Date.parse(time)) / 1000)
