// A cluster whose processors are all promised: what a service lacks is told, what runs goes on, and a change that cannot be made can be
// taken back. For the rig only, which has one node.
import { cpus } from 'node:os'
import { beforeEach, expect, onTestFinished, test } from 'vitest'
import type { WantedService } from '#providers/provider.ts'
import { until } from '#test/until.ts'
import { needsRig, openRig, rig_settings } from './rig-region.ts'
import { newWanted, settle } from './wanted.ts'

/** More than half of the node: it has place for one. */
const large = { cpu_millis: cpus().length * 500, memory_gbs: 1 }
const whole = { ...large, cpu_millis: cpus().length * 1000 }

beforeEach(needsRig)

test('a replica or a size that no node takes is told, and can be taken back', async () => {
  const { cpu_overcommit: _once, ...settings } = rig_settings
  const rig = await openRig({ settings })
  onTestFinished(rig.close)
  const provider = await rig.open()
  await until(() => provider.facts().postgres_versions.length > 0, { what: 'the facts are read' })
  const wanted = await newWanted(provider, { size: large })
  expect(await settle(provider, wanted)).toMatchObject({ state: 'serving' })
  const change = (parts: Partial<WantedService>) => Object.assign(wanted, parts, { generation: wanted.generation + 1 })
  const untilTold = (sentence: RegExp) =>
    until(async () => {
      const observed = await provider.service.apply(wanted)
      return sentence.test(observed.waiting_for ?? '') && observed
    })

  change({ ha: { replica_count: 1, sync_replica_count: 0, switchovers: 0 } })
  const lacks = new RegExp(`^no node of the region has ${large.cpu_millis} milli-cores free for s-`)
  expect(await untilTold(lacks)).toMatchObject({ state: 'serving', settled: false })
  change({ ha: { replica_count: 0, sync_replica_count: 0, switchovers: 0 } })
  expect(await settle(provider, wanted)).toMatchObject({ state: 'serving' })

  change({ size: whole })
  expect(await untilTold(/milli-cores free for s-/)).toMatchObject({ state: 'not_serving', settled: false })
  change({ size: large })
  expect(await settle(provider, wanted)).toMatchObject({ state: 'serving' })
})
