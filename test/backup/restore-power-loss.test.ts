// A machine that loses its power while a service is restored: the WAL that has left what was fetched is copied whole by then, so the restore
// that is made again brings all back.
import { execFileSync } from 'node:child_process'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import type { RestoredService } from '#providers/provider.ts'
import { newLossyDisk } from '#test/lossy-disk.ts'
import { ask, settle, useWorlds } from '#test/provider/service-fixture.ts'
import { newLost } from './lost.ts'

const { newWorld } = useWorlds()
// Copies that share blocks are as durable as what they were copied from.
const disk = newLossyDisk({ size: '3G', shares_blocks: false })
const { why } = disk

afterAll(() => disk.remove())

test.skipIf(why)(`a restore that loses its power is repeated, and brings every row back${why}`, async () => {
  const world = await newWorld(disk.path)
  const { wanted, kept } = await newLost(world, { wal_files: 3 })
  const spec: RestoredService = {
    service_id: wanted.service_id,
    port: wanted.home.port,
    snapshot_id: 's1',
    snapshot_folder: join(kept, 'snapshots', 's1'),
    wal_folder: join(kept, 'backup'),
  }
  execFileSync('sync', ['-f', disk.path])
  let moved = 0
  const first = await world.open({
    effect: (name) => {
      if (name !== 'restore: WAL file' || (moved += 1) < 3) return
      disk.losePower('named')
      throw new Error('the machine has no power')
    },
  })
  await expect(first.backup?.restore(spec)).rejects.toThrow('no power')
  await world.close()
  await disk.mount()
  const next = await world.open()
  await next.backup?.restore(spec)
  await settle(next, { ...wanted, generation: 3 })
  expect(await ask(next, wanted, 'select count(*) from t')).toBe('4')
})
