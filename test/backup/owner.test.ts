// A repository has one owner, also while two installations know its key: one that another has taken over from writes no more, although it
// runs on and nothing fails. And of an installation one process makes the backups.
import { rmSync, utimesSync, writeFileSync } from 'node:fs'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ownName, steadySeconds } from '#providers/host/process-name.ts'
import { backupFilesOf } from '#server/backup/backup-files.ts'
import { listRuns } from '#server/backup/restic.ts'
import { parseBackupTarget } from '#server/backup-target.ts'
import { ask } from '#test/database.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { type ReadyService, startInstallation, type TestInstallation } from '#test/installation.ts'
import { until } from '#test/until.ts'
import { has_restic, initFor, resticFor, untilCopied, why } from './copied.ts'

const nowhere = newDataDir()
const backup_to = parseBackupTarget(`file://${nowhere}/repository`) ?? expect.fail()
const lag_seconds = 6
let howdah: TestInstallation
let service: ReadyService
let at = ''

beforeAll(async () => {
  if (!has_restic) return
  howdah = await startInstallation({ config: { backup_to, backup_lag: lag_seconds } })
  await initFor(howdah.config)
  service = await howdah.createService({ cpu_millis: 'shared' })
  at = `${howdah.services}/${service.service_id}`
  await untilCopied(howdah.call, at)
})

afterAll(async () => {
  if (has_restic) await howdah.stop()
  await removeDataDir(nowhere)
})

const told = async () =>
  (await howdah.call<{ message: string }[]>('GET', `${at}/events?kinds=backup`)).body.map(({ message }) => message)

test.skipIf(why)(`a process that no longer makes the backups tells of none that is late${why}`, async () => {
  const isBehind = (message: string) => message.includes('behind')
  const before = (await told()).filter(isBehind)
  const { runner } = backupFilesOf(howdah.config.data_dir)
  // Of another namespace, so it lives as long as the file is touched.
  writeFileSync(runner, `${ownName().split('/')[0]}/pid:[1]/1/1\n`)
  const touching = setInterval(() => utimesSync(runner, steadySeconds(), steadySeconds()), 1_000)
  try {
    const lag = async () => (await howdah.call('GET', at)).body.protection?.backup_lag_seconds ?? 0
    // It tells every second.
    await until(async () => (await lag()) > lag_seconds + 3)
    expect((await told()).filter(isBehind)).toEqual(before)
  } finally {
    clearInterval(touching)
    rmSync(runner)
  }
  await untilCopied(howdah.call, at)
})

test.skipIf(why)(`a running installation that is taken over from writes no more, and says so${why}`, async () => {
  const restic = await resticFor(howdah.config)
  const claim = [
    'backup',
    '--stdin',
    '--stdin-filename',
    'howdah.json',
    '--host',
    'other',
    '--tag',
    'owner,incarnation-x',
  ]
  await restic(claim, { timeout_seconds: 60, input: '{}' })
  await ask(howdah.server.api_url, service, service.initial_password, 'create table orders as select 1 as n')
  await until(async () => /: installation other took over .*; nothing local is lost$/.test((await told())[0] ?? ''))
  const { protection } = (await howdah.call('GET', at)).body
  expect(protection?.backup_problem).toMatch(/^installation other took over the repository at .*; this one no longer/)
  expect((await listRuns(restic)).at(-1)?.tags).toContain('owner')
})

test.skipIf(why)(`a drill that waits for a backup in vain has tried nothing out, and finds nothing${why}`, async () => {
  expect((await howdah.call('POST', `${at}/drill`)).status).toBe(202)
  const [found] = await until(async () => {
    const { body } = await howdah.call<{ message: string }[]>('GET', `${at}/events?kinds=drill`)
    return body.length > 0 && body
  })
  expect(found?.message).toMatch(/^it was not tried out whether it can be restored: its backup is behind: installation/)
  expect((await howdah.call('GET', at)).body.protection).not.toHaveProperty('last_drill_error')
})
