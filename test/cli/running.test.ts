// Which servers run: records are believed only while their very process lives.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { openLogFile } from '#cli/log-file.ts'
import { parseOperatorInput } from '#cli/operator.ts'
import { findServing, isRunning, listRunning, recordServer } from '#cli/running.ts'
import { start } from '#cli/start.ts'
import { storeStopper, withStore } from '#cli/store.ts'
import { loadConfig } from '#server/config.ts'
import { openInstallation } from '#server/installation.ts'
import { newLog } from '#server/log.ts'
import { metadataStoreIsRunning } from '#server/store/embedded.ts'
import { sql } from '#server/store/sql.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { seedDataDir } from '#test/seed.ts'

const url = 'http://127.0.0.1:1/public/api/v1'
let data_dir = ''

const storeRuns = () => metadataStoreIsRunning({ directory: join(data_dir, 'store') })

beforeEach(() => {
  data_dir = newDataDir()
})

afterEach(() => removeDataDir(data_dir))

test('a recorded server is listed until it takes its record back', () => {
  const forget = recordServer(data_dir, url)
  expect(listRunning(data_dir)).toMatchObject([{ pid: process.pid, url }])
  forget()
  expect(listRunning(data_dir)).toEqual([])
})

test('a directory where nothing ever ran has no servers', () => {
  expect(listRunning(join(data_dir, 'nowhere'))).toEqual([])
})

test('a process that got a dead server’s pid is not taken for it', () => {
  recordServer(data_dir, url)
  const [server] = listRunning(data_dir)
  expect(server && isRunning({ ...server, born: `${server.born}0` })).toBe(false)
})

test('records of dead processes, and files that are no records, are removed by the next read', async () => {
  const child = spawn('true')
  await once(child, 'exit')
  mkdirSync(join(data_dir, 'servers'))
  writeFileSync(join(data_dir, 'servers', '1.json'), JSON.stringify({ pid: child.pid, born: 'x 1', url }))
  writeFileSync(join(data_dir, 'servers', '2.json'), '{"pid": "1"')
  expect(listRunning(data_dir)).toEqual([])
  expect(readdirSync(join(data_dir, 'servers'))).toEqual([])
})

test('the log is private, and a full one makes room', () => {
  const log = openLogFile(data_dir)
  log.write('first\n')
  expect(statSync(log.path).mode & 0o777).toBe(0o600)
  writeFileSync(log.path, Buffer.alloc(17 * 1024 * 1024, 'x'))
  openLogFile(data_dir).write('second\n')
  expect(statSync(log.path).size).toBe('second\n'.length)
  // The first writer finds out at one of its next checks, and goes on in the new file.
  for (let line = 0; line < 1001; line += 1) log.write('third\n')
  expect(statSync(log.path).size).toBeGreaterThan('second\n'.length)
  expect(readdirSync(data_dir).toSorted()).toEqual(['server.log', 'server.log.1'])
})

test('a line that a full disk does not take is lost, and its writer goes on', () => {
  symlinkSync('/dev/full', join(data_dir, 'server.log'))
  const log = newLog('info', openLogFile(data_dir))
  expect(() => log.info('a line')).not.toThrow()
})

test('a start that fails leaves no metadata store running that did not run before', async () => {
  await seedDataDir(data_dir)
  const regions = join(data_dir, 'server-regions.json')
  writeFileSync(regions, JSON.stringify([{ region_code: 'eu-1', provider: 'kubernetes' }]))
  const input = parseOperatorInput(start, ['--data-dir', data_dir, '--regions', regions], {})
  await expect(start.run(input)).rejects.toThrow('region eu-1 needs a host')
  expect(await storeRuns()).toBe(false)
})

test('a command that ends leaves the store to a server that is starting', async () => {
  await seedDataDir(data_dir)
  // It starts for as long as its region does not answer.
  const silent = createServer().listen(0, '127.0.0.1')
  await once(silent, 'listening')
  const regions = join(data_dir, 'server-regions.json')
  const members = { kubeconfig: 'server-kubeconfig', host: '127.0.0.1', catalog: 'rig' }
  writeFileSync(regions, JSON.stringify([{ region_code: 'eu-1', provider: 'kubernetes', ...members }]))
  const config = {
    'current-context': 'a',
    contexts: [{ name: 'a', context: { cluster: 'a', user: 'a' } }],
    clusters: [{ name: 'a', cluster: { server: `http://127.0.0.1:${Object(silent.address()).port}` } }],
    users: [{ name: 'a', user: { token: 'a token' } }],
  }
  writeFileSync(join(data_dir, 'server-kubeconfig'), JSON.stringify(config))
  const stopStore = await storeStopper(loadConfig(['--data-dir', data_dir], {}))
  const asked = once(silent, 'connection')
  const started = start.run(parseOperatorInput(start, ['--data-dir', data_dir, '--regions', regions], {}))
  const failed = expect(started).rejects.toThrow('eu-1')
  const [connection] = (await Promise.race([asked, started])) as [Socket]
  await stopStore()
  expect([await storeRuns(), findServing(data_dir)]).toEqual([true, undefined])
  connection.destroy()
  silent.close()
  await failed
  expect([await storeRuns(), listRunning(data_dir)]).toEqual([false, []])
})

test('a command that the store refuses stops it again, too', async () => {
  await seedDataDir(data_dir)
  const config = loadConfig(['--data-dir', data_dir], {})
  await openInstallation(data_dir)
  const newer = sql`insert into migrations (name, hash) values ('9999-of-a-later-version.sql', '')`
  await withStore(config, (db) => db.query(newer))
  await expect(withStore(config, async () => undefined)).rejects.toThrow('newer than this server')
  expect(await storeRuns()).toBe(false)
})
