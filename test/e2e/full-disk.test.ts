// A start on a disk that others have filled while no server ran: it takes the space that Howdah itself holds there, and without that it
// says what is missing. Needs a small disk of its own, so a root that may mount.
import { chmodSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { fillDisk, freeMb, heldMb, mountDisk, unmountDisk, whySkipped } from '#test/disk.ts'
import { until } from '#test/until.ts'
import { howdah, startHowdah } from './howdah.ts'

const place = newDataDir()
chmodSync(place, 0o711)
const disk = join(place, 'disk')
const local = join(disk, 'local')
const mounted = mountDisk(disk, 700)
const why = whySkipped(mounted)
const words = ['--data-dir', disk]

afterAll(async () => {
  if (mounted) {
    // The mounted folder itself cannot be removed.
    await removeDataDir(disk).catch(() => undefined)
    unmountDisk(disk)
  }
  await removeDataDir(place)
})

test.skipIf(why)(`a full disk is started on by its reserve, and one without says what to do${why}`, async () => {
  const first = await startHowdah(words)
  await until(() => heldMb(local) > 0, { what: 'the reserve is held' })
  await first.end()
  await howdah(['stop', '--all', ...words])
  fillDisk(disk, join(local, 'filler'))
  expect([freeMb(disk), heldMb(local)]).toEqual([0, 128])
  const second = await startHowdah(words)
  expect(heldMb(local)).toBe(0)
  await second.end()
  await howdah(['stop', '--all', ...words])
  fillDisk(disk, join(local, 'more'))
  const { code, stderr } = await howdah(['start', '--port', '0', ...words])
  expect([code, stderr]).toEqual([
    1,
    `howdah: no space left on the disk of ${disk}; free 32 MB of it, and start again\n`,
  ])
})
