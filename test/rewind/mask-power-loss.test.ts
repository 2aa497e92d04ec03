// A machine that loses its power when a mask has just been run: the copy is made anew, so that the mask is never run on what it has masked.
import { execFileSync } from 'node:child_process'
import { afterAll, expect, test } from 'vitest'
import { newLossyDisk } from '#test/lossy-disk.ts'
import { ask, newWanted, settle, useWorlds } from '#test/provider/service-fixture.ts'
import { until } from '#test/until.ts'

const { newWorld } = useWorlds()
const disk = newLossyDisk({ size: '3G', shares_blocks: true })
const { why } = disk

afterAll(() => disk.remove())

test.skipIf(why)(
  `a mask is run once on the data that the fork gets, also when the power is lost after it${why}`,
  async () => {
    const world = await newWorld(disk.path)
    const provider = await world.open()
    const parent = await newWanted(provider, { size: 'shared' })
    await settle(provider, parent)
    await ask(provider, parent, `create table people as select 'Ada' as name`)
    const source = { service_id: parent.service_id, moment: 'now' as const }
    const child = await newWanted(provider, { size: 'shared', source, mask: `update people set name = 'not ' || name` })
    execFileSync('sync', ['-f', disk.path])
    let is_lost = false
    const effect = (name: string) => {
      if (name === 'masked: write aside' && !is_lost) {
        is_lost = true
        disk.losePower()
      }
      if (is_lost) throw new Error('the machine has no power')
    }
    const doomed = await world.open({ effect })
    await until(async () => {
      await doomed.service.apply(child).catch(() => undefined)
      return is_lost
    })
    await world.close()
    await disk.mount()
    const next = await world.open()
    for (const wanted of [parent, child]) await settle(next, wanted)
    expect(await ask(next, child, 'select name from people')).toBe('not Ada')
  },
)
