// howdah admin restore: an installation, brought back from its repository onto a machine that has nothing but this clone.
import { existsSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { RestoreSpec } from '#server/backup/restore.ts'
import { type BackupTarget, parseBackupTarget } from '#server/backup-target.ts'
import type { Config } from '#server/config.ts'
import { enterUserNamespace } from '#providers/local/host/user-namespace.ts'
import { findIsolation, openInstallation, restoringOf } from '#server/installation.ts'
import { isInCalendar } from '../calendar.ts'
import { CommandError, UsageError } from '../command.ts'
import type { OperatorCommand, OperatorInput } from '../operator-command.ts'
import { withStore } from '../store.ts'
import { printRows } from '../table.ts'
import { messageOf } from '../visible.ts'

export const restore: OperatorCommand = {
  name: 'admin restore',
  summary: 'Bring an installation back from its repository, into an empty data directory.',
  options: {
    from: { value: 'target', required: true, description: 'As in --backup-to.' },
    at: { value: 'time', description: 'A moment, such as 2026-03-01T12:00:00Z; left out: the newest that there is.' },
    service: { value: 'service_id', repeatable: true, description: 'This service only; repeat it for several.' },
    'key-file': { value: 'file', description: 'A file with the recovery key; left out: HOWDAH_RECOVERY_KEY has it.' },
    'into-running': {
      description:
        'With one --service: as a new service of the installation in the data directory, beside those that it has.',
    },
    list: { description: 'Say what is in the repository, and restore nothing.' },
    json: { description: 'With --list: print JSON.' },
    verify: { description: 'Read everything in the repository and compare it with its checksums; restore nothing.' },
  },
  details:
    'Ids, endpoints, roles, passwords, lineage, tokens, certificates and keys come back. Interrupted, it is repeated and goes on. The old\n' +
    'machine, should it come back, no longer writes to the repository. Example:\n' +
    '  HOWDAH_RECOVERY_KEY=… howdah admin restore --from file:///mnt/nas/howdah --data-dir /var/lib/howdah',
  run: async (input) => {
    const { config, need, text, texts, isSet } = input
    const from = parseTarget(need('from'))
    const recovery_key = await recoveryKeyOf(input)
    if (isSet('list')) return await openedBy(recovery_key, printList(input, from, recovery_key))
    if (isSet('verify')) return await openedBy(recovery_key, verify(input, from, recovery_key))
    if (isSet('into-running')) return await restoreOne(input, from)
    const chosen = { recovery_key, at: parseTime(text('at')), services: texts('service') }
    await openedBy(recovery_key, restoreWhole(config, from, chosen))
  },
}

/** Before the first start of a data directory, or after a restore that did not end; else nothing is restored. */
export async function ensureRestoredFrom(config: Config, from_text: string): Promise<void> {
  const is_whole = existsSync(join(config.data_dir, 'installation-id')) && !existsSync(restoringOf(config.data_dir))
  if (is_whole) return console.log(`--restore-from changes nothing: ${config.data_dir} has an installation already.`)
  const { recoveryKeyOf: normalised } = await import('#server/backup/repository.ts')
  const given = process.env['HOWDAH_RECOVERY_KEY']
  const recovery_key = given === undefined ? undefined : normalised(given)
  await openedBy(recovery_key, restoreWhole(config, parseTarget(from_text), { recovery_key, services: [] }))
}

/** What restic says of a wrong key names none. */
async function openedBy<T>(recovery_key: string | undefined, work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof Error) || !/wrong password or no key found|Resolving password failed/.test(error.message))
      throw error
    const message =
      recovery_key === undefined
        ? 'the repository is opened by its recovery key: give it in HOWDAH_RECOVERY_KEY, or to admin restore in a file (--key-file)'
        : 'the recovery key is not that of this repository; howdah admin backup init printed it'
    throw new CommandError(message, { cause: error })
  }
}

type Chosen = Pick<RestoreSpec, 'recovery_key' | 'at' | 'services'>

async function restoreWhole(config: Config, from: BackupTarget, chosen: Chosen): Promise<void> {
  const { restoreInstallation } = await import('#server/backup/restore.ts')
  const { newLog } = await import('#server/log.ts')
  const enter = async () => {
    const isolation = await findIsolation(config.data_dir)
    if (isolation !== undefined) await enterUserNamespace(config.data_dir, isolation)
  }
  await restoreInstallation({
    config,
    from,
    ...chosen,
    log: newLog('silent'),
    tell: (line) => console.log(line),
    enter,
  })
}

/** With the key of the data directory. */
async function restoreOne({ config, text, texts }: OperatorInput, from: BackupTarget): Promise<void> {
  const [service_id, ...others] = texts('service')
  if (service_id === undefined || others.length > 0) throw new UsageError('--into-running needs exactly one --service')
  const at = parseTime(text('at'))
  const { restoreBeside } = await import('#server/backup/restore-beside.ts')
  const { newLog } = await import('#server/log.ts')
  const row = await withStore(config, async (db) => {
    const installation = await openInstallation(config.data_dir)
    const parts = { config, installation, db, from, service_id, at, log: newLog('silent') }
    return await restoreBeside({ ...parts, tell: (line) => console.log(line) })
  })
  console.log(
    `It is the service ${row.service_id} (${row.name}), with the data and the password of then; it recovers now.`,
  )
}

async function printList(input: OperatorInput, from: BackupTarget, recovery_key: string | undefined): Promise<void> {
  const { listRestorable } = await import('#server/backup/restore-list.ts')
  const rows = await listRestorable({ config: input.config, from, recovery_key })
  printRows(rows, ['service_id', 'name', 'restorable_from', 'restorable_until'], input.isSet('json'))
}

async function verify(input: OperatorInput, from: BackupTarget, recovery_key: string | undefined): Promise<void> {
  const { verifyRepository } = await import('#server/backup/restore-list.ts')
  const { runs, problems } = await verifyRepository({ config: input.config, from, recovery_key })
  for (const problem of problems) console.log(problem)
  if (problems.length > 0) throw new CommandError(`${problems.length} services cannot be restored to their last moment`)
  console.log(`The repository is whole: ${runs} runs.`)
}

function parseTarget(text: string): BackupTarget {
  try {
    const target = parseBackupTarget(text)
    if (target !== undefined) return target
    throw new Error('must name a repository')
  } catch (error) {
    throw new UsageError(`--from ${messageOf(error)}`)
  }
}

function parseTime(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined
  const time = new Date(text)
  const is_whole = /^\d{4}-\d\d-\d\dT.*(Z|[+-]\d\d:\d\d)$/.test(text) && isInCalendar(text)
  if (is_whole && !Number.isNaN(time.getTime())) return time
  throw new UsageError(`--at must be a time with its zone such as 2026-03-01T12:00:00Z, not ${JSON.stringify(text)}`)
}

async function recoveryKeyOf({ text }: OperatorInput): Promise<string | undefined> {
  const { recoveryKeyOf: normalised } = await import('#server/backup/repository.ts')
  const file = text('key-file')
  const given = file === undefined ? process.env['HOWDAH_RECOVERY_KEY'] : await readFile(file, 'utf8')
  return given === undefined || given.trim() === '' ? undefined : normalised(given)
}
