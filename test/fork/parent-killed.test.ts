// kill -9 of the parent's postmaster at every effect of a fork NOW: the fork has all that was committed before its
// request, and the parent serves again.
import { existsSync } from 'node:fs'
import { beforeAll, expect, test } from 'vitest'
import { type ReadyService, startInstallation } from '#test/installation.ts'
import { shared } from '#test/shared.ts'
import { listPostmasters } from '#test/traces.ts'
import { until } from '#test/until.ts'
import { familyOf } from './family.ts'

/** The others are those of every new service, which have no parent. */
const chosen = /^(lock|snapshots?|copy|fork|postmaster|deleted snapshot)\b/

const installation = shared(() => startInstallation({ effect: (name) => atEffect?.(name) }))
const family = familyOf(installation)
let parent: ReadyService
let atEffect: ((name: string) => void | Promise<void>) | undefined
let rows = 0

beforeAll(async () => {
  parent = await installation.createService({ name: 'parent', cpu_millis: 'shared' })
  await family.rows(parent, 'create table t (n int)')
  await family.untilSnapshot(parent)
})

test('a fork NOW has every commit, and the parent serves again, wherever the parent is killed', async () => {
  const effects = new Set<string>()
  await forkOnce((name) => void (chosen.test(name) && effects.add(name)))
  expect([...effects]).toEqual(expect.arrayContaining(['copy: files', 'copy: WAL', 'fork: rename into place']))
  // At every third one in the same fork, so that it gets somewhere in between; what came while the parent was still down
  // is left for the next one.
  const left = [...effects]
  for (let fork = 0; left.length > 0 && fork < effects.size; fork++) {
    const armed = new Set(left.filter((_, index) => index % 3 === 0))
    const killed: string[] = []
    await forkOnce(async (name) => {
      if (!armed.has(name) || !(await killParent())) return
      armed.delete(name)
      left.splice(left.indexOf(name), 1)
      killed.push(name)
    }).catch((error: unknown) => {
      throw new Error(`after the parent was killed at: ${killed.join(', ')}`, { cause: error })
    })
  }
  expect(left).toEqual([])
})

/** From one commit more to nothing left of the fork, with a check of everything in between. */
async function forkOnce(watch: (name: string) => void | Promise<void>): Promise<void> {
  rows += 1
  await family.rows(parent, `insert into t values (${rows})`)
  atEffect = watch
  const child = await family.fork(parent, { fork_strategy: 'NOW' })
  await until(async () => (await family.snapshots(parent)).every(({ status }) => status === 'complete'))
  atEffect = undefined
  const sums = [String(rows * (rows + 1)), String(rows * (rows + 1))]
  const sumOf = (service: ReadyService) => family.rows(service, 'select 2 * sum(n) from t')
  // A death of a moment ago may not have been noticed yet.
  const of_parent = await until(() => sumOf(parent))
  await installation.untilStatus(parent.service_id, 'READY')
  expect([...(await sumOf(child)), ...of_parent]).toEqual(sums)
  await installation.call('DELETE', `${installation.services}/${child.service_id}`)
  await installation.untilStatus(child.service_id, 'removed')
  await family.untilAlone(parent)
}

/** False when it does not run just now. */
async function killParent(): Promise<boolean> {
  const [pid] = listPostmasters(installation.config.data_dir, parent.service_id)
  if (pid === undefined) return false
  process.kill(pid, 'SIGKILL')
  await until(() => !existsSync(`/proc/${pid}`))
  return true
}
