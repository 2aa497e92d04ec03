// What the reserve promises: blocks that are really taken, and kept over servers.
import { existsSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { until } from '#test/until.ts'
import { openReserve, reserve_bytes } from './reserve.ts'

const folder = newDataDir()
const path = join(folder, 'reserve')
afterAll(() => removeDataDir(folder))

test('the reserve is a file whose blocks are taken, also for the next server, until it is given free', async () => {
  const reserve = openReserve(folder)
  expect(reserve.heldBytes()).toBe(0)
  // Of a server that was killed.
  writeFileSync(`${path}.new`, 'unfinished')
  reserve.take()
  reserve.take()
  await until(() => reserve.heldBytes() > 0, { what: 'it is held' })
  expect(reserve.heldBytes()).toBeGreaterThanOrEqual(reserve_bytes)
  expect(statSync(path).blocks * 512).toBeGreaterThanOrEqual(reserve_bytes)
  expect(existsSync(`${path}.new`)).toBe(false)

  const next = openReserve(folder)
  expect(next.heldBytes()).toBeGreaterThanOrEqual(reserve_bytes)
  next.release()
  expect([next.heldBytes(), existsSync(path)]).toEqual([0, false])
})

test('what one server releases, another one that guards the same disk holds no longer, and takes again', async () => {
  const [one, other] = [openReserve(folder), openReserve(folder)]
  one.take()
  await until(() => one.heldBytes() > 0, { what: 'it is held' })
  expect(other.heldBytes()).toBeGreaterThanOrEqual(reserve_bytes)
  one.release()
  expect(other.heldBytes()).toBe(0)
  other.take()
  await until(() => one.heldBytes() > 0, { what: 'it is held again' })
  one.release()
})
