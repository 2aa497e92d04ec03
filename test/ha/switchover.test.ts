// A planned change of the primary: nothing is lost, no node diverges, and it is made once or given up with a reason.
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ask, loginTo, newWanted, settle, useWorlds } from '#test/provider/service-fixture.ts'
import { homeOf, makeOld, nodePid, standbysOf, withReplicas, withSwitchover } from '#test/provider/standby-fixture.ts'
import { until } from '#test/until.ts'
import { messagesUntilSettled } from './ha-fixture.ts'

const { newWorld } = useWorlds()

test('a change that is asked for is made once, with every commit, and back again', async () => {
  const world = await newWorld()
  const provider = await world.open()
  let wanted = withReplicas(await newWanted(provider, { size: 'shared' }), 1, 1, 0)
  await settle(provider, wanted)
  await ask(provider, wanted, 'create table kept as select 0 as number')
  for (const [term, switchovers] of [
    [2, 1],
    [3, 2],
  ] as const) {
    await ask(provider, wanted, `insert into kept values (${switchovers})`)
    wanted = withSwitchover(wanted, switchovers)
    const messages = await messagesUntilSettled({ provider, wanted })
    const node = switchovers % 2
    expect(messages).toContainEqual(expect.stringContaining(`node ${node} becomes the primary as asked`))
    // The old one has not diverged, so it was not copied.
    expect(messages.filter((message) => message.includes('copied anew'))).toEqual([])
    const text = await readFile(join(homeOf(world, wanted), 'primary.json'), 'utf8')
    expect(JSON.parse(text)).toEqual({ node, term, switchovers })
    expect(await messagesUntilSettled({ provider, wanted })).toEqual([])
    expect(await standbysOf(provider, wanted)).toEqual({ [`node_${1 - node}`]: 'streaming' })
  }
  expect(await ask(provider, wanted, 'select count(*) from kept')).toBe('3')
})

test('a primary that no replica follows stays the primary, and an event says why', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const wanted = withReplicas(await newWanted(provider, { size: 'shared' }), 1, 1, 0)
  await settle(provider, wanted)
  process.kill(await nodePid(world, wanted, 1), 'SIGKILL')
  await until(async () => Object.keys(await standbysOf(provider, wanted)).length === 0)
  const asked = withSwitchover(wanted, 1)
  const messages = await messagesUntilSettled({ provider, wanted: asked })
  expect(messages).toContain(
    'node 0 stays the primary, although a switchover was requested: none of its replicas follows it',
  )
  expect(await standbysOf(provider, asked)).toEqual({ node_1: 'streaming' })
  expect(await messagesUntilSettled({ provider, wanted: asked })).toEqual([])
})

test('a primary that does not stop for a planned change is killed in the end, and serves again', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const wanted = withReplicas(await newWanted(provider, { size: 'shared' }), 1, 1, 0)
  await settle(provider, wanted)
  const session = await loginTo(provider, wanted)
  const { rows } = await session.query<{ pid: number }>('select pg_backend_pid() as pid')
  process.kill(rows[0]?.pid ?? 0, 'SIGSTOP')
  const asked = withSwitchover(wanted, 1)
  expect((await provider.service.apply(asked)).waiting_for).toBe('PostgreSQL is stopping')
  await makeOld(join(homeOf(world, wanted), 'stopping'))
  expect(await messagesUntilSettled({ provider, wanted: asked })).toContain(
    'node 0 stays the primary, although a switchover was requested: node 0 could not be stopped cleanly',
  )
  expect(await standbysOf(provider, asked)).toEqual({ node_1: 'streaming' })
  await session.end().catch(() => undefined)
})
