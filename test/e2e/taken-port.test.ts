// A start whose port is taken says what to do before anything is installed or made, also where the only Node is the one that a release brings along.
import { existsSync } from 'node:fs'
import { createServer } from 'node:net'
import { once } from 'node:events'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { startInRegion } from '#test/http/region.ts'
import type { TestInstallation } from '#test/installation.ts'
import { howdah } from './howdah.ts'

let installation: TestInstallation
let home = ''

beforeAll(async () => {
  home = newDataDir()
  installation = await startInRegion()
})

afterAll(async () => {
  await installation?.stop()
  await removeDataDir(home)
})

const start = (port: number | string) =>
  howdah(['start', '--port', String(port), '--data-dir', join(home, 'data')], { HOME: home, PATH: '/nowhere' })

test('Howdah already runs there: how to use it, and how to run another one', async () => {
  const { host, port } = new URL(installation.server.url)
  const { code, stderr, stdout } = await start(port)
  expect([code, stdout]).toEqual([1, ''])
  expect(stderr).toContain(`port ${port} is in use: Howdah already runs at http://${host}`)
  expect(stderr).toContain(`npm start -- --port ${Number(port) + 1}`)
  expect(existsSync(join(home, 'data'))).toBe(false)
})

test('another program has it', async () => {
  const other = createServer((socket) => socket.end('no HTTP')).listen(0, '127.0.0.1')
  await once(other, 'listening')
  const address = other.address()
  const port = typeof address === 'object' && address !== null ? address.port : 0
  const { code, stderr } = await start(port)
  expect([code, stderr]).toEqual([1, expect.stringContaining(`port ${port} is in use by another program`)])
  expect(existsSync(join(home, 'data'))).toBe(false)
  other.close()
})

test('the address is not of this machine', async () => {
  const env = { HOME: home, PATH: '/nowhere' }
  const { code, stderr } = await howdah(['start', '--host', '192.0.2.1', '--data-dir', join(home, 'data')], env)
  expect([code, stderr]).toEqual([1, expect.stringContaining('cannot listen on 192.0.2.1 port 8080 (EADDRNOTAVAIL)')])
  expect(existsSync(join(home, 'data'))).toBe(false)
})
