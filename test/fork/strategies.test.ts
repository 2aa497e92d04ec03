// The three strategies on real data: what a fork holds, what it does not share, and parents that do not run.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type ReadyService, startInstallation, type TestInstallation } from '#test/installation.ts'
import { type Family, familyOf } from './family.ts'

let installation: TestInstallation
let family: Family
let parent: ReadyService

beforeAll(async () => {
  installation = await startInstallation()
  family = familyOf(installation)
  parent = await installation.createService({ name: 'parent', cpu_millis: 'shared' })
  await family.untilSnapshot(parent)
  await family.rows(parent, 'create table t (n int); insert into t values (1)')
})
afterAll(() => installation.stop())

test('NOW has everything that was committed before the request, and its own password', async () => {
  const child = await family.fork(parent, { fork_strategy: 'NOW' })
  expect(await family.rows(child, 'select n from t')).toEqual(['1'])
})
