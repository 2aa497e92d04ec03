// What a repository needs over hours and weeks, when it is due: it is tidied, repacked and checked, and a drill restores from it.
import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { backupFilesOf, type BackupState } from '#server/backup/backup-files.ts'
import { listRuns } from '#server/backup/restic.ts'
import { parseBackupTarget } from '#server/backup-target.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { howdah as command } from '#test/e2e/howdah.ts'
import { ask } from '#test/database.ts'
import { type ReadyService, startInstallation, type TestInstallation } from '#test/installation.ts'
import { until } from '#test/until.ts'
import { has_restic, initFor, resticFor, untilCopied, why } from './copied.ts'
import { drill, flipBit } from './drilling.ts'

const nowhere = newDataDir()
const disk = join(nowhere, 'disk')
/** Too small for a snapshot. */
const mounted = mountDisk('size=1m')
const why_not_full = why || (mounted ? '' : ' (skipped: it takes a root that may mount)')
let howdah: TestInstallation
let service: ReadyService
let state = ''

beforeAll(async () => {
  if (!has_restic) return
  howdah = await startInstallation({
    config: { backup_to: parseBackupTarget(`file://${disk}/repository`), backup_lag: 10 },
  })
  state = backupFilesOf(howdah.config.data_dir).state
  await initFor(howdah.config)
  service = await howdah.createService({ cpu_millis: 'shared' })
})

afterAll(async () => {
  await howdah?.stop()
  if (mounted) execFileSync('umount', ['--lazy', disk])
  await removeDataDir(nowhere)
})

const readState = () => JSON.parse(readFileSync(state, 'utf8')) as BackupState
const days_ago = (days: number) => new Date(Date.now() - days * 86_400_000).toISOString()

/** As if these were done so long ago. */
async function makeDue(changes: Partial<BackupState>): Promise<void> {
  await until(() => readState().checked_at !== undefined)
  const write = () => writeFileSync(state, JSON.stringify({ ...readState(), ...changes }))
  await howdah.server.close()
  write()
  await howdah.restart()
}

const ordersOf = (statement: string) => ask(howdah.server.api_url, service, service.initial_password, statement)

test.skipIf(why_not_full)(
  `a full repository holds nothing up, and catches up when it has space${why_not_full}`,
  async () => {
    const isFull = () => /no space left/.test(JSON.stringify(readState()))
    await until(isFull, { what: 'it is told that the repository is full' })
    await ordersOf('create table orders as select n from generate_series(1, 1000) n')
    mountDisk('remount,size=300m')
    await untilCopied(howdah.call, `${howdah.services}/${service.service_id}`)
    expect(await ordersOf('select count(*) from orders')).toEqual(['1000'])
    await until(() => !isFull())
  },
)

test.skipIf(why)(`a drill restores the service from the repository${why}`, async () => {
  await untilCopied(howdah.call, `${howdah.services}/${service.service_id}`)
  expect(await drill(howdah, service)).toBeUndefined()
  const left = () => readdirSync(join(howdah.config.data_dir, 'backup', 'drill'))
  await until(() => left().length === 0, { what: 'nothing that was fetched is left' })
})

test.skipIf(why)(
  `what is old is forgotten and pruned when that is due, and a killed run locks no other out${why}`,
  async () => {
    const restic = await resticFor(howdah.config)
    const words = [
      'backup',
      '--stdin',
      '--stdin-filename',
      'old',
      '--tag',
      'data,service-old',
      '--time',
      '2024-01-01 00:00:00',
    ]
    await restic(words, { timeout_seconds: 60, input: 'old' })
    const { id } = (await listRuns(restic)).find(({ tags }) => tags.includes('service-old')) ?? expect.fail()
    const isThere = () => existsSync(join(disk, 'repository', 'snapshots', id))
    expect(isThere()).toBe(true)
    const before = days_ago(9)
    // By a clock that was ahead, and was set right since.
    await makeDue({ tidied_at: days_ago(-9), repacked_at: before })
    await until(() => !isThere(), { what: 'the old run is forgotten' })
    await until(() => (readState().repacked_at ?? '') > before)
    expect(readState()).not.toHaveProperty('problem')
  },
)

test.skipIf(why)(`what a killed server left of a snapshot, compared with nothing, is copied anew${why}`, async () => {
  await untilCopied(howdah.call, `${howdah.services}/${service.service_id}`)
  const restic = await resticFor(howdah.config)
  const runsOf = async () =>
    (await listRuns(restic)).filter(({ tags }) => tags.includes(`service-${service.service_id}`))
  const left = (await runsOf()).at(-1) ?? expect.fail()
  const tag = left.tags.find((one) => one.startsWith('snapshot-')) ?? expect.fail()
  await makeDue({ storing: tag.slice('snapshot-'.length) })
  const again = async () => (await runsOf()).filter(({ tags }) => tags.includes(tag)).map(({ id }) => id)
  await until(async () => (await again()).length === 1 && !(await again()).includes(left.id))
  await until(() => readState().storing === undefined)
})

test.skipIf(why)(
  `flipped bits in the repository are found by the nightly check and by a drill, and named${why}`,
  async () => {
    for (const name of readdirSync(join(disk, 'repository', 'data'), { recursive: true, encoding: 'utf8' })) {
      if (/^..\/[0-9a-f]{64}$/.test(name)) flipBit(join(disk, 'repository', 'data', name))
    }
    // What was found once is looked for in all of it.
    await makeDue({ checked_at: days_ago(2), damage: 'as of an earlier night' })
    await until(() => /pack|blob/i.test(readState().damage ?? ''), { what: 'the damage is told' })
    const status = await command(['admin', 'backup', 'status', '--data-dir', howdah.config.data_dir])
    expect(status.stdout).toMatch(/The repository is damaged: .*(pack|blob)/i)
    expect(await drill(howdah, service)).toMatch(/restor|blob|pack/i)
  },
)

/** Whether it could be mounted. */
function mountDisk(options: string): boolean {
  mkdirSync(disk, { recursive: true })
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `${options},mode=0711`, 'howdah-test', disk], { stdio: 'ignore' })
    return true
  } catch {
    return false
  }
}
