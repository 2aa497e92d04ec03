// A service in a VPC: reached at its address from inside, from nowhere else, and back at its own endpoint afterwards.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { stat } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { probeAt } from '#providers/local/network/service-network.ts'
import { namespaceOf } from '#providers/local/network/name.ts'
import { ask, loginTo, newWanted, postmasterPid, settle, useWorlds } from '#test/provider/service-fixture.ts'
import { until } from '#test/until.ts'
import {
  askIn,
  loginIn,
  newVpc,
  processesIn,
  settleVpc,
  tracesOf,
  why_no_networks as why,
  inVpc,
} from './vpc-fixture.ts'

const { newService, newWorld } = useWorlds()

test.skipIf(why)(`attach moves a service into its VPC, detach brings it back, with its data${why}`, async () => {
  const { world, provider, wanted: home } = await newService({ size: 'shared' })
  await ask(provider, home, 'create table kept as select 7 as n')
  const vpc = newVpc('1000', '10.77.0.0/24')
  await settleVpc(provider, vpc)
  const inside = { ...home, generation: 2, ...inVpc('1000', '10.77.0.2') }

  const outside_session = await loginTo(provider, home)
  const ended = new Promise<string>((resolve) => outside_session.once('error', ({ message }) => resolve(message)))
  expect(await settle(provider, inside)).toMatchObject({ state: 'serving' })
  expect(await ended).toMatch(/terminating connection due to administrator command/)
  expect(await askIn(world, provider, '1000', inside, 'select n from kept')).toBe('7')
  await expect(loginTo(provider, home)).rejects.toThrow(/ECONNREFUSED/)
  const pid = await postmasterPid(world, home)
  expect((await stat(`/proc/${pid}`)).uid).toBe(70_000 + home.home.port)
  expect(await settle(provider, inside)).toMatchObject({ state: 'serving' })
  expect(await postmasterPid(world, home)).toBe(pid)
  expect(processesIn(world, '1000')).toContain(String(pid))

  const session = await loginIn(world, provider, '1000', inside)
  expect(await settle(provider, { ...home, generation: 3 })).toMatchObject({ state: 'serving' })
  expect(await session.broken).toMatch(/terminating connection due to administrator command/)
  expect(await ask(provider, home, 'select n from kept')).toBe('7')
  await expect(loginIn(world, provider, '1000', inside)).rejects.toThrow(/ECONNREFUSED/)
  const spec = { endpoint: inside.reach, authority_pem: provider.authority_pem, password_verifier: '' }
  expect(await probeAt(world, inside.vpc_id, spec)).toEqual({ result: 'failed', reason: 'Connection refused' })
  await until(() => processesIn(world, '1000').length === 0, { what: 'no process is left in the VPC' })
})

test.skipIf(why)(`a service waits for its network, and moves when the network was made anew${why}`, async () => {
  const world = await newWorld()
  const provider = await world.open()
  const changed: string[] = []
  provider.watch((_, id) => changed.push(id))
  const wanted = await newWanted(provider, {
    size: 'shared',
    ...inVpc('1000', '10.77.0.2'),
    snapshots: [{ snapshot_id: 'first', deleted: false }],
  })
  expect(await provider.service.apply(wanted)).toMatchObject({
    settled: false,
    waiting_for: 'the network of VPC 1000 is being made',
  })
  const vpc = newVpc('1000', '10.77.0.0/24')
  await settleVpc(provider, vpc)
  expect(await settle(provider, wanted)).toMatchObject({ state: 'serving' })
  const metrics = await until(async () => (await provider.metrics([wanted])).get(wanted.service_id))
  expect(metrics.connections).toBe(0)
  await until(async () => (await provider.service.apply(wanted)).snapshots[0]?.state === 'complete', {
    what: 'its snapshot is taken',
  })

  execFileSync('ip', ['netns', 'delete', namespaceOf(world, '1000')])
  await settleVpc(provider, vpc)
  expect(changed).toContain(wanted.service_id)
  await expect(loginIn(world, provider, '1000', wanted)).rejects.toThrow(/EHOSTUNREACH|timeout/)
  await settle(provider, wanted)
  expect(await askIn(world, provider, '1000', wanted, 'select 1')).toBe('1')

  // As after a reboot: nothing runs, and no network is there.
  await provider.stopAll()
  expect(tracesOf(world, ['1000'])).toEqual([])
  await settleVpc(provider, vpc)
  await settle(provider, wanted)
  expect(await askIn(world, provider, '1000', wanted, 'select 1')).toBe('1')
  await provider.close()
})

test.skipIf(why)(`two services with the same address in two VPCs serve at the same time${why}`, async () => {
  const world = await newWorld()
  const provider = await world.open()
  for (const vpc_id of ['1000', '1001']) await settleVpc(provider, newVpc(vpc_id, '10.77.0.0/24'))
  const [one, other] = await Promise.all(
    ['1000', '1001'].map((vpc_id) => newWanted(provider, { size: 'shared', ...inVpc(vpc_id, '10.77.0.2') })),
  )
  assert(one && other)
  await Promise.all([settle(provider, one), settle(provider, other)])
  const name = 'select split_part(setting, $$/$$, 2) from pg_settings where name = $$cluster_name$$'
  expect(await askIn(world, provider, '1000', one, name)).toBe(one.service_id)
  expect(await askIn(world, provider, '1001', other, name)).toBe(other.service_id)
  await provider.close()
})
