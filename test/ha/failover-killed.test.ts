// The process that replaces a lost primary dies right before every effect of it, at some by kill -9, together with a database
// server now and then, and another one goes on: the end is always one primary with every commit, and replicas that follow it.
// A failover and a planned change run undisturbed once to learn their effects. Then they are begun again, and every process that goes
// on dies at every third of them, so that each gets somewhere before it dies too; with `npm test -- --all` three times, at each of them.
import { readdir, readFile } from 'node:fs/promises'
import { expect, test } from 'vitest'
import type { LocalProvider } from '#providers/local/local.ts'
import { findPrimary } from '#providers/local/postgres/primary.ts'
import { nodeOf } from '#providers/local/host/layout.ts'
import type { WantedService } from '#providers/provider.ts'
import { apply } from '#test/provider/apply.ts'
import { as_root, ask, newWanted, settle, useWorlds, type World } from '#test/provider/service-fixture.ts'
import { dataOf, haveRead, homeOf, nodePid, standbysOf, withReplicas } from '#test/provider/standby-fixture.ts'
import { partsOf, sampleOf } from '#test/sample.ts'

const { newWorld } = useWorlds()
const rounds = 3
const kills = 2
/** Up to 60 providers, on a machine that may be very busy. */
const timeout = 900_000

test('a primary that is lost or asked to step down is replaced once, whoever dies meanwhile', { timeout }, async () => {
  const world = await newWorld()
  const provider = await world.open()
  const service = withReplicas(await newWanted(provider, { size: 'shared' }), 1, 1, 1)
  await settle(provider, service)
  await ask(provider, service, 'create table kept (number int)')
  let wanted = service
  let rows = 0

  /** A commit, and then the loss of the primary that acknowledged it. */
  const lose = async () => {
    await ask(provider, wanted, `insert into kept values (${(rows += 1)})`)
    await haveRead(world, wanted)
    await killNode(world, wanted, await primaryOf(world, wanted))
  }
  const askForChange = async () => {
    await ask(provider, wanted, `insert into kept values (${(rows += 1)})`)
    const ha = { replica_count: 1, sync_replica_count: 1, switchovers: (wanted.ha?.switchovers ?? 0) + 1 }
    wanted = { ...wanted, generation: wanted.generation + 1, ha }
  }

  // One takes over as it runs, the other is started at the endpoint.
  for (const [begin, way] of [
    [lose, 'relay: spawn'],
    [askForChange, 'postmaster: spawn'],
  ] as const) {
    await begin()
    const learnt = await apply(world, { services: [wanted] })
    const effects = [...new Set(learnt.effects)].filter((name) => !name.includes('spare'))
    const killed = sampleOf(effects, kills)
    const dies = async (effect: string) => {
      const doom = { effect, nth: 1 }
      return (await apply(world, { services: [wanted] }, doom, { really: killed.includes(effect) })).died
    }
    expect(effects).toEqual(expect.arrayContaining(['primary: rename into place', 'replica: promote', way]))
    await expectWhole(world, provider, wanted, rows)
    for (const { part, some } of partsOf(effects, rounds)) {
      await begin()
      for (const effect of some) {
        if (!(await dies(effect))) {
          // Whoever went before has done it already: begin anew, once.
          await begin()
          await dies(effect)
        }
        // In the last part everything that is found running is lost with it, one at a time.
        if (part === rounds - 1) await killNode(world, wanted, effects.indexOf(effect) % 2)
      }
      await apply(world, { services: [wanted] })
      await expectWhole(world, provider, wanted, rows)
    }
  }
})

async function expectWhole(world: World, provider: LocalProvider, wanted: WantedService, rows: number): Promise<void> {
  expect((await settle(provider, wanted)).state).toBe('serving')
  const standby = 1 - (await primaryOf(world, wanted))
  expect(await standbysOf(provider, wanted)).toEqual({ [`node_${standby}`]: 'streaming' })
  expect(await ask(provider, wanted, 'select count(*) from kept')).toBe(String(rows))
  expect(await ask(provider, wanted, 'select count(distinct number) from kept')).toBe(String(rows))
  expect((await readdir(homeOf(world, wanted))).filter((name) => /\.new$|\.gone$/.test(name))).toEqual([])
}

async function primaryOf({ directory }: World, { service_id, home }: WantedService): Promise<number> {
  return (await findPrimary(nodeOf(directory, service_id, home.port, as_root))).node
}

/** Nothing, when it does not run: the number in its file may be another's by now. */
async function killNode(world: World, wanted: WantedService, node: number): Promise<void> {
  const pid = await nodePid(world, wanted, node).catch(() => 0)
  const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')
  if (command.includes(dataOf(world, wanted, node))) process.kill(pid, 'SIGKILL')
}
