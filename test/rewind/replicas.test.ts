// Replicas and replica sets follow a rewind, and no replica of the state before is ever elected.
import { expect, test } from 'vitest'
import { newEndpoint } from '#test/addresses.ts'
import { applyAll } from '#test/provider/apply.ts'
import { ask, newWanted, postmasterPid, settle, useWorlds } from '#test/provider/service-fixture.ts'
import { wantedSetAt } from '#test/provider/wanted.ts'
import { momentNow, until } from '#test/until.ts'
import { rewindTo, takenAt } from './rewinding.ts'

const { newWorld } = useWorlds()

test('a service with a synchronous replica and a replica set goes back with both', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const ha = { replica_count: 1, sync_replica_count: 1, switchovers: 0 }
  let wanted = await newWanted(provider, { size: 'shared', ha, snapshots: [{ snapshot_id: 'first', deleted: false }] })
  const home = await newEndpoint(provider)
  const set = wantedSetAt(home, wanted)
  await applyAll(provider, { services: [wanted], sets: [set] })
  await ask(provider, wanted, 'create table t as select 1 as n')
  await takenAt(provider, wanted, 'first')
  const moment = await momentNow()
  await ask(provider, wanted, 'insert into t values (2)')
  wanted = await rewindTo(provider, wanted, moment, 'before')
  await ask(provider, wanted, 'insert into t values (3)')
  const reader = { ...wanted, reach: home }
  await until(
    async () => {
      await applyAll(provider, { services: [wanted], sets: [{ ...set, service: wanted, generation: 2 }] })
      return (await ask(provider, reader, 'select array_agg(n order by n) from t').catch(() => '')) === '1,3'
    },
    { what: 'the replica set follows' },
  )
  // What takes over has the same.
  process.kill(await postmasterPid(world, wanted), 'SIGKILL')
  await settle(provider, wanted)
  expect(await ask(provider, wanted, 'select array_agg(n order by n) from t')).toBe('1,3')
  await applyAll(provider, { sets: [{ ...set, deleted: true, service: wanted }] })
})
