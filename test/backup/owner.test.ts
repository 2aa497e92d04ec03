// A repository has one owner, also while two installations know its key: one that another has taken over from writes no more, although it
// runs on and nothing fails.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { listRuns } from '#server/backup/restic.ts'
import { parseBackupTarget } from '#server/backup-target.ts'
import { ask } from '#test/database.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { startInstallation, type TestInstallation } from '#test/installation.ts'
import { until } from '#test/until.ts'
import { has_restic, initFor, resticFor, untilCopied, why } from './copied.ts'

const nowhere = newDataDir()
const backup_to = parseBackupTarget(`file://${nowhere}/repository`) ?? expect.fail()
let howdah: TestInstallation | undefined

beforeAll(async () => {
  if (has_restic) howdah = await startInstallation({ config: { backup_to, backup_lag: 6 } })
})

afterAll(async () => {
  await howdah?.stop()
  await removeDataDir(nowhere)
})

test.skipIf(why)(`a running installation that is taken over from writes no more, and says so${why}`, async () => {
  const own = howdah ?? expect.fail()
  await initFor(own.config)
  const service = await own.createService({ cpu_millis: 'shared' })
  const at = `${own.services}/${service.service_id}`
  await untilCopied(own.call, at)
  const restic = await resticFor(own.config)
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
  await ask(own.server.api_url, service, service.initial_password, 'create table orders as select 1 as n')
  const told = async () => (await own.call<{ message: string }[]>('GET', `${at}/events?kinds=backup`)).body[0]?.message
  await until(async () => (await told())?.includes('installation other took over the repository'))
  const { protection } = (await own.call('GET', at)).body
  expect(protection?.backup_problem).toMatch(/^installation other took over the repository at .*; this one no longer/)
  expect((await listRuns(restic)).at(-1)?.tags).toContain('owner')
})
