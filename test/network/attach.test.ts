// A service in a VPC: reached at its address from inside, from nowhere else, and back at its own endpoint afterwards.
import { stat } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { ask, loginTo, newWanted, postmasterPid, settle, useWorlds } from '#test/provider/service-fixture.ts'
import { askIn, loginIn, newVpc, settleVpc, why_no_networks as why } from './vpc-fixture.ts'

const { newWorld } = useWorlds()

test.skipIf(why)(`attach moves a service into its VPC, detach brings it back, with its data${why}`, async () => {
  const world = await newWorld()
  const provider = await world.open()
  const home = await newWanted(provider, { size: 'shared' })
  await settle(provider, home)
  await ask(provider, home, 'create table kept as select 7 as n')
  const vpc = newVpc('1000', '10.77.0.0/24')
  await settleVpc(provider, vpc)
  const inside = { ...home, generation: 2, network: { vpc_id: '1000', address: '10.77.0.2' } }

  const outside_session = await loginTo(provider, home)
  const ended = new Promise<string>((resolve) => outside_session.once('error', ({ message }) => resolve(message)))
  expect(await settle(provider, inside)).toMatchObject({ state: 'serving' })
  expect(await ended).toMatch(/terminating connection due to administrator command/)
  expect(await askIn(world, provider, '1000', inside, 'select n from kept')).toBe('7')
  await expect(loginTo(provider, home)).rejects.toThrow(/ECONNREFUSED/)
  const pid = await postmasterPid(world, home)
  expect((await stat(`/proc/${pid}`)).uid).toBe(70_000 + home.endpoint.port)
  expect(await settle(provider, inside)).toMatchObject({ state: 'serving' })
  expect(await postmasterPid(world, home)).toBe(pid)

  const session = await loginIn(world, provider, '1000', inside)
  expect(await settle(provider, { ...home, generation: 3 })).toMatchObject({ state: 'serving' })
  expect(await session.broken).toMatch(/terminating connection due to administrator command/)
  expect(await ask(provider, home, 'select n from kept')).toBe('7')
  await expect(loginIn(world, provider, '1000', inside)).rejects.toThrow(/ECONNREFUSED/)
})
