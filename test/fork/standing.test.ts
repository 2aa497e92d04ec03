// Data that has not been started yet, because its port is taken or it was stopped before: a copy of it is as whole as one of a server.
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test, vi } from 'vitest'
import type { ServiceSource, WantedService } from '#providers/provider.ts'
import { ask, newWanted, settle, useWorlds } from '#test/provider/service-fixture.ts'
import { dataOf, homeOf } from '#test/provider/standby-fixture.ts'
import { until } from '#test/until.ts'
import { newParent } from './parent.ts'

const { newWorld } = useWorlds()

const snapshotOf = (snapshot_id: string) => ({ snapshot_id, deleted: false })

/** A parent with a row, and a fork of it that stands with its data, not started yet. */
async function newStanding(momentOf: (parent: WantedService) => ServiceSource['moment']) {
  const world = await newWorld()
  let starts = true
  const effect = async (name: string) => {
    if (name === 'postmaster: spawn' && !starts) throw new Error('its port is taken')
  }
  const provider = await world.open({ effect })
  const parent = await newWanted(provider, { size: 'shared', snapshots: [snapshotOf('first')] })
  await settle(provider, parent)
  await until(async () => (await provider.service.apply(parent)).snapshots[0]?.state === 'complete')
  await ask(provider, parent, 'create table kept as select 42 as answer')
  const source = { service_id: parent.service_id, moment: momentOf(parent) }
  const fork = await newWanted(provider, { size: 'shared', source })
  starts = false
  await until(async () => {
    await provider.service.apply(fork).catch(() => undefined)
    return existsSync(dataOf(world, fork, 0))
  })
  starts = true
  const off: WantedService = { ...fork, generation: 2, power: 'off', snapshots: [snapshotOf('standing')] }
  return { world, provider, fork, off }
}

test('a snapshot and a fork of data that was copied and not started yet have its label', async () => {
  const { world, provider, fork, off } = await newStanding(() => 'now')
  await until(async () => (await provider.service.apply(off)).snapshots[0]?.state === 'complete')
  const folder = join(homeOf(world, fork), 'snapshots', 'standing')
  const label = readFileSync(join(dataOf(world, fork, 0), 'backup_label'), 'utf8')
  expect(readFileSync(join(folder, 'data', 'backup_label'), 'utf8')).toBe(label)
  const { start_wal_file } = JSON.parse(readFileSync(join(folder, 'snapshot.json'), 'utf8')) as {
    start_wal_file: string
  }
  expect(label).toContain(`(file ${start_wal_file})`)
  for (const moment of [{ snapshot_id: 'standing' }, 'now'] as const) {
    const next = await newWanted(provider, { size: 'shared', source: { service_id: fork.service_id, moment } })
    await settle(provider, next)
    expect(await ask(provider, next, 'select answer from kept')).toBe('42')
  }
})

test('a fork whose plan for its moment was lost with the power comes to its moment all the same', async () => {
  const { world, provider, fork } = await newStanding(() => ({ at: new Date().toISOString() }))
  writeFileSync(join(homeOf(world, fork), 'replay.json'), '')
  await settle(provider, fork)
  expect(await ask(provider, fork, 'select answer from kept')).toBe('42')
})

test('no snapshot is taken of data that has still to be led to its moment', async () => {
  const { provider, fork, off } = await newStanding(() => ({ at: new Date().toISOString() }))
  const observed = await until(async () => {
    const one = await provider.service.apply(off)
    return one.waiting_for !== undefined && one
  })
  expect(observed).toMatchObject({ snapshots: [{ state: 'taking' }] })
  expect(observed.waiting_for).toContain('its data has not reached its moment yet')
  const on: WantedService = { ...off, generation: 3, power: 'on' }
  await settle(provider, on)
  await until(async () => (await provider.service.apply(on)).snapshots[0]?.state === 'complete')
  expect(await ask(provider, fork, 'select answer from kept')).toBe('42')
})

test('a process that stood still in the turn of a parent does not lock it: another one may have started it by now', async () => {
  const world = await newWorld()
  let turn_of = ''
  let locking: string[] | undefined
  const turns = () => readdirSync(join(world.directory, 'turns'))
  const effect = async (name: string) => {
    locking?.push(name)
    if (locking || name !== 'lock: write aside' || turn_of === '') return
    if (!turns().some((one) => one.startsWith(turn_of))) {
      // The turn of the fork ends before its data is made.
      await until(() => turns().length === 0)
      return
    }
    locking = []
    const waking = performance.now() + 11_000
    const clock = vi.spyOn(performance, 'now').mockReturnValue(waking)
    setImmediate(() => clock.mockRestore())
  }
  const provider = await world.open({ effect })
  const parent = await newParent(provider)
  await settle(provider, { ...parent, power: 'off', generation: 2 })
  turn_of = `${parent.service_id}@`
  const source = { service_id: parent.service_id, moment: 'now' as const }
  const child = await newWanted(provider, { size: 'shared', source })
  await settle(provider, child)
  expect(locking?.find((name) => name.startsWith('lock: '))).toBe('lock: write aside')
})
