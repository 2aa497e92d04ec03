// What a provider says and does when the world is not ready: a crash, a port in use, a full disk, a slow stop.
import { execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chown, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { isStopped } from '#providers/host/daemon.ts'
import { entriesOf } from '#providers/local/postgres/shared-memory.ts'
import { until } from '#test/until.ts'
import {
  as_root,
  ask,
  loginTo,
  newWanted,
  useWorlds,
  postmasterPid,
  noProcessBelow,
  settle,
} from './service-fixture.ts'
import { dataOf, withReplicas } from './standby-fixture.ts'

const { newService, newWorld } = useWorlds()

test('a postmaster that is killed is noticed and started again, and committed rows are there', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const noticed: string[] = []
  provider.watch((_, id) => void noticed.push(id))
  const wanted = await newWanted(provider, { size: 'shared' })
  await settle(provider, wanted)
  await ask(provider, wanted, 'create table t as select 7 as n')
  // A backend that computes outlives its postmaster for a while; it must be dead before the next start.
  const busy = await loginTo(provider, wanted)
  const computing = busy.query('select count(*) from generate_series(1, 1e10)').catch(() => 'ended')
  const pid = await postmasterPid(world, wanted)
  // Of its processes the kernel kills any other first, when there is no memory.
  const adjusted = async (one: number | string) => Number(await readFile(`/proc/${one}/oom_score_adj`, 'utf8'))
  const least = async () => {
    const children = (await readFile(`/proc/${pid}/task/${pid}/children`, 'utf8')).split(' ').filter(Boolean)
    return Math.min(...(await Promise.all(children.map((child) => adjusted(child).catch(() => Infinity)))))
  }
  await until(async () => (await least()) > (await adjusted(pid)), { what: 'all are likelier victims' })
  process.kill(pid, 'SIGKILL')
  await until(() => noticed.includes(wanted.service_id), { what: 'the death is noticed' })
  const observed = await settle(provider, wanted)
  expect(observed).toMatchObject({ state: 'serving', events: [{ kind: 'restarted' }] })
  expect(await computing).toBe('ended')
  expect(await postmasterPid(world, wanted)).not.toBe(pid)
  expect(await ask(provider, wanted, 'select n from t')).toBe('7')
  expect((await provider.service.apply(wanted)).events).toEqual([])
})

test('a server that another program told to stop does not wait for its clients: it is noticed, and started again', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const noticed: string[] = []
  provider.watch((_, id) => void noticed.push(id))
  const wanted = await newWanted(provider, { size: 'shared' })
  await settle(provider, wanted)
  const client = await loginTo(provider, wanted)
  const pid = await postmasterPid(world, wanted)
  process.kill(pid, 'SIGTERM')
  await until(() => noticed.includes(wanted.service_id), { what: 'the stop is noticed' })
  expect((await settle(provider, wanted)).state).toBe('serving')
  expect(await postmasterPid(world, wanted)).not.toBe(pid)
  await client.end().catch(() => undefined)
})

test('a server that stands still (SIGSTOP) stops with its service', async () => {
  const { world, provider, wanted } = await newService({ size: 'shared' })
  const pid = await postmasterPid(world, wanted)
  process.kill(pid, 'SIGSTOP')
  await until(() => isStopped(pid))
  expect((await provider.service.apply({ ...wanted, generation: 2, power: 'off' })).state).toBe('stopped')
})

test('a delete right after a crash leaves no process, file or shared memory', async () => {
  const { world, provider, wanted } = await newService({ size: 'shared' })
  const client = await loginTo(provider, wanted)
  process.kill(await postmasterPid(world, wanted), 'SIGKILL')
  expect((await settle(provider, { ...wanted, deleted: true })).state).toBe('absent')
  await client.end().catch(() => undefined)
  await noProcessBelow(world.directory)
  expect(await readdir(join(world.directory, 'services'))).toEqual([])
  if (!as_root) return
  const table = await readFile('/proc/sysvipc/shm', 'utf8')
  expect(entriesOf(table, { uid: 70_000 + wanted.home.port, gid: 0 }, 7)).toEqual([])
  const memory = await Promise.all(
    (await readdir('/dev/shm')).map((name) => stat(join('/dev/shm', name)).catch(() => undefined)),
  )
  expect(memory.filter((file) => file?.uid === 70_000 + wanted.home.port)).toEqual([])
})

test('a pid file that names another process, or none, does not keep a service from starting', async () => {
  const { world, provider, wanted } = await newService({ size: 'shared' })
  const pid_file = join(world.directory, 'services', wanted.service_id, 'data', 'postmaster.pid')
  for (const content of [`${process.pid}\n`, '']) {
    await settle(provider, { ...wanted, power: 'off' })
    await writeOwned(pid_file, content)
    expect((await settle(provider, wanted)).state).toBe('serving')
  }
})

test('a lock of its socket that names another process, or none, does not keep a service from starting', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const wanted = await newWanted(provider, { size: 'shared' })
  const { port } = wanted.home
  await settle(provider, wanted)
  // PostgreSQL fears only processes of its own user.
  const user = as_root ? { uid: 70_000 + port, gid: 70_000 + port } : {}
  const stranger = spawn('/bin/sleep', ['600'], { stdio: 'ignore', ...user })
  onTestFinished(() => void stranger.kill('SIGKILL'))
  const data = join(world.directory, 'services', wanted.service_id, 'data')
  const lock = join(world.directory, 'run', wanted.service_id, `.s.PGSQL.${port}.lock`)
  for (const content of [`${stranger.pid}\n${data}\n`, '']) {
    await settle(provider, { ...wanted, power: 'off' })
    await writeOwned(lock, content)
    expect((await settle(provider, wanted)).state).toBe('serving')
  }
})

test('a server that is killed before it is ready is started again soon', async () => {
  const { world, provider, wanted } = await newService({ size: 'shared' })
  await settle(provider, { ...wanted, power: 'off' })
  const data = join(world.directory, 'services', wanted.service_id, 'data')
  // A pipe without a writer: a server that reads its settings from it waits for ever.
  const pipe = join(data, 'postgresql.auto.conf')
  await rm(pipe)
  execFileSync('mkfifo', ['-m', '666', pipe])
  const passing = provider.service.apply(wanted)
  process.kill(await until(() => findByWord(data), { what: 'it is being started' }), 'SIGKILL')
  const observed = await passing
  expect(observed).toMatchObject({ state: 'not_serving', waiting_for: 'PostgreSQL was killed while it started' })
  expect(observed.look_again_seconds).toBeLessThan(1)
  await rm(pipe)
  expect((await settle(provider, wanted)).state).toBe('serving')
})

/** The process with this word in its command line. */
async function findByWord(word: string): Promise<number | undefined> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name))
  for (const pid of pids) {
    const words = (await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).split('\0')
    if (words.includes(word) && words[0]?.endsWith('/postgres')) return Number(pid)
  }
  return undefined
}

test('a data directory that is gone is neither made nor copied anew, and the service goes on when it is put back', async () => {
  const { world, provider, wanted: parent } = await newService({ size: 'shared' })
  await ask(provider, parent, 'create table t as select 7 as n')
  const source = { service_id: parent.service_id, moment: 'now' } as const
  const fork = await newWanted(provider, { size: 'shared', source })
  await settle(provider, fork)
  await ask(provider, fork, 'update t set n = 8')
  for (const { wanted, n, more } of [
    // A replica of it is still to be made.
    { wanted: parent, n: '7', more: withReplicas(parent, 2, 1, 1) },
    { wanted: fork, n: '8', more: fork },
  ]) {
    await settle(provider, { ...wanted, power: 'off' })
    const data = dataOf(world, wanted, 0)
    await rename(data, join(world.directory, 'elsewhere'))
    const made = { ...more, made: true }
    const waiting_for = expect.stringContaining(`its data directory ${data} is gone`)
    expect(await provider.service.apply(made)).toMatchObject({ state: 'absent', settled: false, waiting_for })
    expect(await provider.heal(wanted.service_id)).toMatchObject({ state: 'absent', settled: false, waiting_for })
    expect(existsSync(data)).toBe(false)
    await rename(join(world.directory, 'elsewhere'), data)
    await settle(provider, { ...wanted, made: true })
    expect(await ask(provider, wanted, 'select n from t')).toBe(n)
  }
})

test('a damaged certificate and changed settings are made good', async () => {
  const { world, provider, wanted } = await newService({ size: 'shared' })
  const home = join(world.directory, 'services', wanted.service_id)
  await writeFile(join(home, 'server.pem'), 'damaged')
  await writeFile(join(home, 'howdah.conf'), `shared_buffers = '1MB'`)
  expect((await settle(provider, wanted)).state).toBe('serving')
  expect(await ask(provider, wanted, 'show shared_buffers')).toBe('32MB')
  expect(await readFile(join(home, 'howdah.conf'), 'utf8')).toContain(`shared_buffers = '32MB'`)
})

test('a port in use is named, and the service starts when it is free', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const wanted = await newWanted(provider, { size: 'shared' })
  const squatter = createServer()
  onTestFinished(() => void squatter.close())
  await new Promise<void>((resolve) => squatter.listen(wanted.home, resolve))
  const observed = await provider.service.apply(wanted)
  expect(observed).toMatchObject({ state: 'not_serving', settled: false })
  expect(observed.waiting_for).toContain(`port ${wanted.home.port}`)
  await new Promise((resolve) => squatter.close(resolve))
  expect((await settle(provider, wanted)).state).toBe('serving')
})

test('a start that fails is told in the words of PostgreSQL', async () => {
  const { world, provider, wanted } = await newService({ size: 'shared' })
  await settle(provider, { ...wanted, power: 'off' })
  const data = join(world.directory, 'services', wanted.service_id, 'data')
  await rm(join(data, 'pg_wal'), { recursive: true })
  const words = /PostgreSQL did not start: .*pg_wal/
  const isTold = async () => {
    const observed = await provider.service.apply(wanted)
    return words.test(observed.waiting_for ?? '') && observed
  }
  expect(await until(isTold)).toMatchObject({ state: 'not_serving', settled: false })
})

test('a full disk is a setback that leaves nothing half-made, and creation completes when there is space', async () => {
  const world = await newWorld()
  let full = true
  const provider = await world.open({
    effect: (name) => {
      if (full && name === 'data directory: own identifier') throw Object.assign(new Error('full'), { code: 'ENOSPC' })
    },
  })
  const wanted = await newWanted(provider, { size: 'shared' })
  const observed = await provider.service.apply(wanted)
  expect(observed).toMatchObject({ state: 'absent', settled: false })
  expect(observed.waiting_for).toMatch(/no space left/)
  expect(await readdir(join(world.directory, 'services', wanted.service_id))).not.toContain('data.new')
  full = false
  expect((await settle(provider, wanted)).state).toBe('serving')
})

test('stopping everything stops every database cleanly, and they start again as they were', async () => {
  const world = await newWorld()
  const provider = await world.open()
  const services = await Promise.all([1, 2].map(() => newWanted(provider, { size: 'shared' })))
  await Promise.all(services.map((wanted) => settle(provider, wanted)))
  await provider.stopAll()
  await noProcessBelow(world.directory)
  for (const wanted of services) {
    expect(await settle(provider, wanted)).toMatchObject({ state: 'serving', events: [] })
  }
})

test('a data directory that lost its version of PostgreSQL says which one it needs', async () => {
  const { world, provider, wanted } = await newService({ size: 'shared' })
  await writeFile(join(world.directory, 'services', wanted.service_id, 'data', 'PG_VERSION'), '9\n')
  const observed = await provider.service.apply(wanted)
  expect(observed.settled).toBe(false)
  expect(observed.waiting_for).toMatch(/needs PostgreSQL 9/)
})

/** As the service's own user would have written it. */
async function writeOwned(path: string, content: string): Promise<void> {
  await writeFile(path, content)
  const { uid, gid } = await stat(dirname(path))
  await chown(path, uid, gid)
}
