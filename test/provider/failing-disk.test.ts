// A disk that fails while the server asks a database whether it is there: no handle of its socket is left.
import { once } from 'node:events'
import { readdirSync, readlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { findConnection } from '#providers/local/host/liveness.ts'
import { newLossyDisk } from '#test/lossy-disk.ts'

const disk = newLossyDisk({ size: '400M', shares_blocks: false })
const { why } = disk
const port = 5432

afterAll(() => disk.remove())

function handlesBelow(folder: string): string[] {
  const targets = readdirSync('/proc/self/fd').map((handle) => {
    try {
      return readlinkSync(`/proc/self/fd/${handle}`)
    } catch {
      // That of the listing itself.
      return ''
    }
  })
  return targets.filter((target) => target.startsWith(folder))
}

test.skipIf(why)(`a socket whose folder cannot be read any more leaves no handle open${why}`, async () => {
  const server = createServer((socket) => socket.end('N')).listen(join(disk.path, `.s.PGSQL.${port}`))
  await once(server, 'listening')
  const ask = () => findConnection({ sockets: disk.path, port }, 1_000)
  expect(await ask()).toBeDefined()
  disk.losePower()
  for (let times = 0; times < 10; times += 1) expect(await ask()).toBeUndefined()
  server.close()
  expect(handlesBelow(disk.path)).toEqual([])
})
