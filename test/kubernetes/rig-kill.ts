// A server that is killed (SIGKILL) in the middle of a verb leaves nothing on a real cluster that the next one does not finish. Each verb
// is killed at some of its effects, chosen by TEST_SEED.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test } from 'vitest'
import type { WantedService } from '#providers/provider.ts'
import { newEndpoint } from '#test/addresses.ts'
import { compileCacheFor } from '#test/compile-cache.ts'
import { verifierOf } from '#test/provider/service-fixture.ts'
import { until } from '#test/until.ts'
import type { Task } from './rig-apply-main.ts'
import { loginAt, newRigId, openRig, type Rig } from './rig-region.ts'

const seed = Number(process.env['TEST_SEED'] ?? 1)
const deaths_max = 4
const farthest = 3
const password = 'first password'

test('create, setHA, fork and delete of a server that is killed on the way come to their end', async () => {
  const rig = await openRig()
  onTestFinished(rig.close)
  const provider = await rig.open()
  await until(() => provider.facts().postgres_versions.length > 0, { what: 'the facts are read' })
  const taken = new Set<number>()
  const newWanted = async (parts: Partial<WantedService> = {}): Promise<WantedService> => {
    const home = await newEndpoint(provider, taken)
    const of_home = { home, reach: home, password_verifier: verifierOf(password) }
    const plain = { deleted: false, power: 'on', size: 'shared', extensions: [], snapshots: [] } as const
    return { service_id: newRigId(), project_id: newRigId(), generation: 1, ...plain, ...of_home, ...parts }
  }
  const ask = async (one: WantedService, sql: string) => {
    const login = await loginAt({ at: one.reach, password, ca_pem: rig.ca_pem })
    const { rows } = await login.query<Record<string, unknown>>(sql)
    await login.end()
    return rows
  }
  const wanted = await newWanted()
  await finish(rig, wanted, 'create')
  await ask(wanted, 'create table kept as select 7 as n')
  await finish(
    rig,
    { ...wanted, generation: 2, ha: { replica_count: 1, sync_replica_count: 1, switchovers: 0 } },
    'setHA',
  )
  expect(await ask(wanted, 'select n from kept')).toEqual([{ n: 7 }])
  const { project_id, service_id } = wanted
  const fork = await newWanted({ project_id, source: { service_id, moment: 'now' } })
  await finish(rig, fork, 'fork')
  expect(await ask(fork, 'select n from kept')).toEqual([{ n: 7 }])
  await finish(rig, { ...fork, generation: 2, deleted: true }, 'delete of the fork')
  await finish(rig, { ...wanted, generation: 3, deleted: true }, 'delete')
  const namespace = rig.namespaceOf(wanted)
  const isGone = async () => (await rig.client.find({ kind: 'Namespace', name: namespace })) === undefined
  await until(isGone, { what: 'the namespace is gone' })
})

/** One process after the other; each of the first dies at an effect. */
async function finish(rig: Rig, wanted: WantedService, what: string): Promise<void> {
  for (let death = 0; ; death += 1) {
    const nth = death < deaths_max ? 1 + ((seed + death) % farthest) : 0
    const { died, effects } = await applyElsewhere({ ...rig.task, wanted, nth })
    process.stdout.write(`${what}: ${died ? `killed at ${effects.at(-1)}` : 'settled'}\n`)
    if (!died) return
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
