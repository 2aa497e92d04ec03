// Code of a tenant that broke PostgreSQL tries to outlive its service: a process in a session of its own kept DELETE waiting for
// ever. A service ends with everything of its user and its control groups, and with nothing of other services.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { listHostProcesses } from '#providers/host/process.ts'
import { killAllOf } from '#providers/local/host/leftovers.ts'
import { openLimits } from '#providers/local/host/limits.ts'
import type { WantedService } from '#providers/provider.ts'
import { applyElsewhere } from '#test/provider/apply.ts'
import {
  as_root,
  ask,
  newWanted,
  postmasterPid,
  settle,
  useWorlds,
  type World,
} from '#test/provider/service-fixture.ts'
import { newSet, nodePid, settleSet } from '#test/replica-set/set-fixture.ts'
import { newInstallationId } from '#test/run/traces.ts'
import { until } from '#test/until.ts'
import { breakOut, breakOutBeside, lives } from './broken-out.ts'

const { newService, newWorld } = useWorlds()
const limits = await openLimits(newInstallationId())
/** What cannot be hidden from: without both, only where it works and who started it tells whose a process is. */
const is_known = as_root || limits.enforced
const why_not_known = is_known ? '' : ' (skipped: it takes root, or limits by control groups)'
const why = as_root ? '' : ' (skipped: only root gives each service a user of its own)'

/** Should the test fail before the service ends it. */
async function breakOutOf(world: World, wanted: WantedService, how: Parameters<typeof breakOut>[2]): Promise<number> {
  const pid = await breakOut(world, wanted, how)
  onTestFinished(() => void spawnSync('kill', ['-9', String(pid)]))
  expect(lives(pid) || how === 'hopping').toBe(true)
  return pid
}

const listOf = async (uid: number) => (await listHostProcesses()).filter(({ uids }) => uids.includes(uid))

test('a process that a tenant’s code started with setsid ends with the service, and DELETE with it', async () => {
  const { world, provider, wanted } = await newService({ size: 'shared' })
  const left = await breakOutOf(world, wanted, is_known ? 'hidden' : 'away')
  await settle(provider, { ...wanted, deleted: true })
  expect(lives(left)).toBe(false)
  expect(existsSync(join(world.directory, 'services', wanted.service_id))).toBe(false)
})

test('a stop ends what a tenant’s code has started too, and the service starts again', async () => {
  const { world, provider, wanted } = await newService({ size: 'shared' })
  const left = await breakOutOf(world, wanted, is_known ? 'hidden' : 'away')
  await settle(provider, { ...wanted, power: 'off', generation: 2 })
  expect(lives(left)).toBe(false)
  // The last words of its server are not lost by it.
  const log = execFileSync('grep', ['-rhl', 'database system is shut down', join(world.directory, 'services')])
  expect(log.length).toBeGreaterThan(0)
  await settle(provider, { ...wanted, generation: 3 })
  expect(await ask(provider, wanted, 'select 1')).toBe('1')
})

test('a child in a session of its own, elsewhere, whose parent still works for the server, ends with the service', async () => {
  const { world, provider, wanted } = await newService({ size: 'shared' })
  const left = await breakOutBeside(world, wanted)
  onTestFinished(() => void spawnSync('kill', ['-9', String(left)]))
  await settle(provider, { ...wanted, deleted: true })
  expect(lives(left)).toBe(false)
})

test('stop --all ends what a tenant’s code has started, and removes its control groups', async () => {
  const { world, provider, wanted } = await newService({ size: 'shared' })
  const left = await breakOutOf(world, wanted, is_known ? 'hidden' : 'away')
  await provider.stopAll()
  expect(lives(left)).toBe(false)
})

test.skipIf(why_not_known)(
  `a node that is fenced takes with it every process that was started on it${why_not_known}`,
  async () => {
    const world = await newWorld()
    const provider = await world.open()
    const ha = { replica_count: 1, sync_replica_count: 0, switchovers: 0 }
    const wanted = { ...(await newWanted(provider, { size: 'shared' })), ha }
    await settle(provider, wanted)
    const left = await breakOutOf(world, wanted, 'hidden')
    process.kill(await postmasterPid(world, wanted), 'SIGKILL')
    await settle(provider, wanted)
    expect(await ask(provider, wanted, 'select pg_is_in_recovery()')).toBe('false')
    if (limits.enforced) expect(lives(left)).toBe(false)
    await settle(provider, { ...wanted, deleted: true })
    expect(lives(left)).toBe(false)
  },
)

test.skipIf(why)(
  `a process that hops from number to number faster than it is listed ends with DELETE${why}`,
  async () => {
    const { world, provider, wanted } = await newService({ size: 'shared' })
    const uid = 70_000 + wanted.home.port
    for (let each = 0; each < 3; each++) await breakOutOf(world, wanted, 'hopping')
    expect((await listOf(uid)).length).toBeGreaterThan(0)
    await settle(provider, { ...wanted, deleted: true })
    expect(await listOf(uid)).toEqual([])
  },
)

test.skipIf(why)(
  `all processes of a user are killed in one step, and never those of a user that is no service’s${why}`,
  async () => {
    const uid = 70_000 + 65_535
    const sleepers = [1, 2, 3].map(() =>
      spawn('/bin/sleep', ['600'], { uid, gid: uid, detached: true, stdio: 'ignore' }),
    )
    onTestFinished(() => sleepers.forEach((sleeper) => void sleeper.kill('SIGKILL')))
    await until(async () => (await listOf(uid)).length === 3)
    await killAllOf({ uid, gid: uid })
    await until(async () => (await listOf(uid)).length === 0)
    await expect(killAllOf({ uid: 69_999, gid: 69_999 })).rejects.toThrow('only the processes of a service are killed')
  },
)

test.skipIf(why)(`another installation’s service under the same user lives on, its files too${why}`, async () => {
  const [world, neighbour] = [await newWorld(), await newWorld()]
  const [provider, theirs] = [await world.open(), await neighbour.open()]
  const wanted = await newWanted(provider, { size: 'shared' })
  await settle(provider, wanted)
  await settle(provider, { ...wanted, power: 'off', generation: 2 })
  // The port is free, so the neighbour takes it, and with it the user.
  const same = await newWanted(theirs, { size: 'shared', home: wanted.home })
  await settle(theirs, same)
  const pid = await postmasterPid(neighbour, same)
  await settle(provider, { ...wanted, power: 'off', generation: 3 })
  await settle(provider, { ...wanted, deleted: true })
  expect(await postmasterPid(neighbour, same)).toBe(pid)
  expect(await ask(theirs, same, 'select 1')).toBe('1')
})

test.skipIf(why)(
  `a replica set serves on while a process of its service is ended, and goes without the service${why}`,
  async () => {
    const { world, provider, wanted: service } = await newService({ size: 'shared' })
    const set = await newSet({ world, provider, service })
    await settleSet(provider, set)
    const left = await breakOutOf(world, service, 'hidden')
    const pid = await nodePid(world, set)
    await settle(provider, { ...service, power: 'off', generation: 2 })
    expect([lives(left), lives(pid)]).toEqual([false, true])
    await settle(provider, { ...service, generation: 3 })
    const primary = await postmasterPid(world, service)
    await settleSet(provider, { ...set, deleted: true })
    expect([lives(pid), lives(primary)]).toEqual([false, true])
  },
)

test.skipIf(why)(
  `what a tenant’s code leaves in shared folders and in the kernel goes with the service${why}`,
  async () => {
    const { provider, wanted } = await newService({ size: 'shared' })
    const uid = 70_000 + wanted.home.port
    const paths = ['/dev/shm', '/tmp', '/var/tmp'].map((folder) => join(folder, `howdah-left-${wanted.service_id}`))
    const asTenant = (program: string, ...args: string[]) =>
      execFileSync(program, args, { uid, gid: uid, stdio: 'pipe', cwd: '/' })
    for (const path of paths)
      asTenant('sh', '-c', `mkdir -p ${path}/below && echo x > ${path}/below/file && ln -s / ${path}/link`)
    onTestFinished(() => void execFileSync('rm', ['-rf', ...paths]))
    for (const kind of ['--queue', '--semaphore=1', '--shmem=100']) asTenant('ipcmk', kind)
    await settle(provider, { ...wanted, deleted: true })
    expect(paths.filter((path) => existsSync(path))).toEqual([])
    const tables = ['shm', 'sem', 'msg'].map((name) => readFileSync(`/proc/sysvipc/${name}`, 'utf8'))
    expect(tables.join('\n').split(/\s+/)).not.toContain(String(uid))
  },
)

const can_hide = as_root && spawnSync('unshare', ['--mount', 'true']).status === 0
const why_not_hidden = can_hide ? '' : ' (skipped: it takes a root that may mount)'

test.skipIf(why_not_hidden)(
  `where there are no control groups, the user alone tells whose a process is${why_not_hidden}`,
  async () => {
    const [world, neighbour] = [await newWorld(), await newWorld()]
    const provider = await world.open()
    const wanted = await newWanted(provider, { size: 'shared' })
    await provider.close()
    await applyWithoutGroups(world, wanted)
    expect(readFileSync(`/proc/${await postmasterPid(world, wanted)}/cgroup`, 'utf8')).not.toContain(
      world.installation_id,
    )
    const first = await breakOutOf(world, wanted, 'hidden')
    await applyWithoutGroups(world, { ...wanted, power: 'off', generation: 2 })
    expect(lives(first)).toBe(false)
    const same = await newWanted(provider, { size: 'shared', home: wanted.home })
    await applyWithoutGroups(neighbour, same)
    const [pid, theirs] = [await postmasterPid(neighbour, same), await breakOutOf(neighbour, same, 'away')]
    await applyWithoutGroups(world, { ...wanted, power: 'off', generation: 3 })
    await applyWithoutGroups(world, { ...wanted, deleted: true })
    expect([lives(pid), lives(theirs)]).toEqual([true, true])
    await applyWithoutGroups(neighbour, { ...same, deleted: true })
    expect([lives(pid), lives(theirs)]).toEqual([false, false])
  },
)

/** As a server does it on a host, such as a container, that has no control groups to write. */
async function applyWithoutGroups(world: World, wanted: WantedService): Promise<void> {
  const script = 'mount -t tmpfs none /sys/fs/cgroup && exec "$@"'
  await applyElsewhere(world, { services: [wanted] }, undefined, ['unshare', '--mount', 'sh', '-ec', script, 'sh'])
}
