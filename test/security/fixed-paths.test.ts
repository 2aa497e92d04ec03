// The caller that starts the server as root, by sudo with a kept PATH say, does not choose the programs that root runs: a folder
// at the front of PATH has a program of every name that the system has, and none of them may ever be run.
import {
  chmodSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import type { Service } from '#contract/service.ts'
import type { Vpc } from '#contract/vpc.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { newServicePorts } from '#test/ports.ts'
import { howdah, startHowdah } from '#test/e2e/howdah.ts'
import { as_root } from '#test/provider/service-fixture.ts'
import { newSeededDataDir } from '#test/seed.ts'
import { startServerProcess } from '#test/server-process.ts'
import { until } from '#test/until.ts'

const why = as_root ? '' : ' (skipped: an ordinary user may choose what its own server runs)'
/** The caller's own by nature: the machine's Node is what runs the command. */
const by_the_caller = ['node', 'npm', 'npx']

test.skipIf(why)(`a PATH with planted programs makes root’s server run none of them${why}`, async () => {
  const { path, listRun } = plantPrograms()
  const data_dir = newDataDir()
  onTestFinished(() => removeDataDir(data_dir))
  const service_ports = newServicePorts()
  const server = await withPath(path, () => startServerProcess({ data_dir, service_ports }))
  onTestFinished(() => server.end())
  const call = server.callWith(server.first_token ?? '')
  const project = `/projects/${server.project_id}`
  const { body: made } = await call<Service>('POST', `${project}/services`, { name: 'x', cpu_millis: 'shared' })
  const at = `${project}/services/${made.service_id}`
  const untilReady = () => until(async () => (await call<Service>('GET', at)).body.status === 'READY')
  await untilReady()
  expect((await call('POST', `${at}/enablePooler`)).status).toBe(200)
  expect((await call('POST', `${at}/setHA`, { replica_count: 1, sync_replica_count: 0 })).status).toBe(202)
  await untilReady()
  const set = { name: 'set', nodes: 2, cpu_millis: 500, memory_gbs: 2 }
  expect((await call('POST', `${at}/replicaSets`, set)).status).toBe(202)
  const input = { cidr: '10.77.0.0/24', name: 'x', region_code: 'local' }
  const { body: vpc } = await call<Vpc>('POST', `${project}/vpcs`, input)
  await untilReady()
  expect((await call('POST', `${at}/attachToVPC`, { vpc_id: vpc.id })).status).toBe(202)
  await untilReady()
  const exec = await howdah(['admin', 'vpc', 'exec', vpc.id, '--data-dir', data_dir, '--', '/bin/echo', 'inside'], {
    PATH: path,
  })
  expect(exec.stdout).toBe('inside\n')
  expect((await call('POST', `${at}/switchover`)).status).toBe(202)
  await untilReady()
  expect((await call('DELETE', at)).status).toBe(202)
  await until(async () => (await call('GET', at)).status === 404)
  expect(listRun()).toEqual([])
})

test.skipIf(why)(`a PATH with planted programs makes the command of root run none of them${why}`, async () => {
  const { path, listRun } = plantPrograms()
  const data_dir = await newSeededDataDir()
  onTestFinished(() => removeDataDir(data_dir))
  const env = { PATH: path, HOWDAH_DATA_DIR: data_dir }
  expect((await howdah(['doctor'], env)).stdout).toContain('PgBouncer')
  const server = await startHowdah([], env)
  onTestFinished(async () => void (await server.end('SIGKILL')))
  expect((await howdah(['stop', '--all'], env)).code).toBe(0)
  expect(listRun()).toEqual([])
})

function plantPrograms(): { path: string; listRun: () => string[] } {
  const folder = mkdtempSync(join(tmpdir(), 'howdah-planted-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const [planted, run, trap] = ['bin', 'run', 'trap'].map((name) => join(folder, name)) as [string, string, string]
  mkdirSync(planted)
  writeFileSync(run, '')
  writeFileSync(trap, `#!/bin/sh\necho "$0" >> ${run}\nexit 99\n`)
  // All users can run what lies there, and leave their trace.
  for (const [path, mode] of [
    [folder, 0o755],
    [run, 0o666],
    [trap, 0o755],
  ] as const)
    chmodSync(path, mode)
  const names = new Set(['/usr/bin', '/usr/sbin', '/bin', '/sbin'].flatMap((place) => readdirSync(place)))
  for (const name of names) if (!by_the_caller.includes(name)) symlinkSync(trap, join(planted, name))
  return {
    path: `${planted}:${process.env['PATH']}`,
    listRun: () => readFileSync(run, 'utf8').split('\n').filter(Boolean),
  }
}

async function withPath<T>(path: string, start: () => Promise<T>): Promise<T> {
  const before = process.env['PATH']
  process.env['PATH'] = path
  const started = start()
  process.env['PATH'] = before
  return await started
}
