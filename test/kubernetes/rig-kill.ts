// A server that is killed (SIGKILL) in the middle of a verb leaves nothing on a real cluster that the next one does not finish. Each verb
// is killed at each of its effects.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import type { WantedService } from '#providers/provider.ts'
import { compileCacheFor } from '#test/compile-cache.ts'
import { until } from '#test/until.ts'
import type { Task } from './rig-apply-main.ts'
import { loginAt, openRig, type Rig } from './rig-region.ts'
import { newWanted, password } from './wanted.ts'

const deaths_at_one_max = 4

test('create, setHA, fork and delete of a server that is killed on the way come to their end', async () => {
  const rig = await openRig()
  onTestFinished(rig.close)
  const provider = await rig.open()
  await until(() => provider.facts().postgres_versions.length > 0, { what: 'the facts are read' })
  const ask = async (one: WantedService, sql: string) => {
    const login = await loginAt({ at: one.reach, password, ca_pem: rig.ca_pem })
    const { rows } = await login.query<Record<string, unknown>>(sql)
    await login.end()
    return rows
  }
  const wanted = await newWanted(provider)
  await finish(rig, wanted, 'create')
  await ask(wanted, 'create table kept as select 7 as n')
  await finish(
    rig,
    { ...wanted, generation: 2, ha: { replica_count: 1, sync_replica_count: 1, switchovers: 0 } },
    'setHA',
  )
  expect(await ask(wanted, 'select n from kept')).toEqual([{ n: 7 }])
  await finish(
    rig,
    { ...wanted, generation: 3, ha: { replica_count: 0, sync_replica_count: 0, switchovers: 0 } },
    'setHA back',
  )
  const { service_id } = wanted
  const fork = await newWanted(provider, { source: { service_id, moment: 'now' } })
  await finish(rig, fork, 'fork')
  expect(await ask(fork, 'select n from kept')).toEqual([{ n: 7 }])
  await finish(rig, { ...fork, generation: 2, deleted: true }, 'delete of the fork')
  await finish(rig, { ...wanted, generation: 4, deleted: true }, 'delete')
  const namespace = rig.namespaceOf(wanted)
  const isGone = async () => (await rig.client.find({ kind: 'Namespace', name: namespace })) === undefined
  await until(isGone, { what: 'the namespace is gone' })
})

/**
 * One process after the other. The first dies before its first effect, each other one after it has made one: so at every effect. What every
 * process does anew, such as looking through the store, must not keep it from the next: a few deaths at one effect are enough.
 */
async function finish(rig: Rig, wanted: WantedService, what: string): Promise<void> {
  const deaths: string[] = []
  for (;;) {
    const at = deaths.at(-1)
    const again = deaths.length - 1 - deaths.findLastIndex((one) => one !== at)
    const nth = at === undefined ? 1 : 2 + Math.floor(again / deaths_at_one_max)
    const { died, effects } = await applyElsewhere({ ...rig.task, wanted, nth })
    process.stdout.write(`${what}: ${died ? `killed at ${effects.at(-1)}` : 'settled'}\n`)
    if (!died) return
    deaths.push(effects.at(-1) ?? '')
  }
}

async function applyElsewhere(task: Task): Promise<{ died: boolean; effects: string[] }> {
  const child = spawn(process.execPath, [join(import.meta.dirname, 'rig-apply-main.ts')], {
    env: { ...process.env, NODE_COMPILE_CACHE: compileCacheFor([]) },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const ended = once(child, 'close')
  child.stdin.end(JSON.stringify(task))
  const effects = (await text(child.stdout)).split('\n').filter((name) => name !== '')
  await ended
  const died = child.signalCode === 'SIGKILL'
  if (!died && child.exitCode !== 0) throw new Error(`the one who applies ended with ${child.exitCode}`)
  return { died, effects }
}
