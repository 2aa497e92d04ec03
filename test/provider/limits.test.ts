// Control groups: the pure parts as tables, for any host, and the real thing where this host permits it.
import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { afterEach, describe, expect, test } from 'vitest'
import { controlsOf, groupsAround, hierarchyOf, openLimits, parseCgroupMounts } from '#providers/local/host/limits.ts'
import { newInstallationId } from '#test/run/traces.ts'
import { until } from '#test/until.ts'

const v1_only = `23 1 0:5 / / rw - ext4 /dev/vda rw
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:9 - cgroup cgroup rw,cpu,cpuacct
35 31 0:32 / /sys/fs/cgroup/memory rw,relatime - cgroup cgroup rw,memory`
const v2_only = '31 23 0:28 / /sys/fs/cgroup rw,nosuid shared:4 - cgroup2 cgroup2 rw,nsdelegate'
const hybrid = `${v1_only}
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw`
const apart = `1 0 0:1 / /cg/cpu rw - cgroup none rw,cpu
2 0 0:2 / /cg/cpuacct rw - cgroup none rw,cpuacct
3 0 0:3 / /cg/my\\040memory rw - cgroup none rw,memory`

describe('where groups are made', () => {
  test.each([
    ['only version 1', v1_only, '', 1, ['/sys/fs/cgroup/cpu,cpuacct/howdah-x', '/sys/fs/cgroup/memory/howdah-x']],
    ['only version 2', v2_only, 'cpuset cpu io memory hugetlb pids\n', 2, ['/sys/fs/cgroup/howdah-x']],
    [
      'version 2 without the controllers',
      hybrid,
      'hugetlb\n',
      1,
      ['/sys/fs/cgroup/cpu,cpuacct/howdah-x', '/sys/fs/cgroup/memory/howdah-x'],
    ],
    ['both with the controllers', hybrid, 'cpu memory\n', 2, ['/sys/fs/cgroup/unified/howdah-x']],
    ['each controller apart', apart, '', 1, ['/cg/cpu/howdah-x', '/cg/my memory/howdah-x', '/cg/cpuacct/howdah-x']],
  ])('%s', (_, mountinfo, controllers, version, parents) => {
    expect(hierarchyOf(parseCgroupMounts(mountinfo), controllers, 'howdah-x')).toMatchObject({ version, parents })
  })

  test.each([
    ['nothing is mounted', '', ''],
    ['version 2 lacks memory', v2_only, 'cpu\n'],
    ['version 1 lacks memory', '1 0 0:1 / /cg/cpu rw - cgroup none rw,cpu', ''],
  ])('nowhere when %s', (_, mountinfo, controllers) => {
    expect(hierarchyOf(parseCgroupMounts(mountinfo), controllers, 'howdah-x')).toBeUndefined()
  })
})

test.each([
  ['at the top', '0::/\n', ['/cg']],
  [
    'in a unit',
    '5:memory:/x\n0::/user.slice/howdah.service\n',
    ['/cg', '/cg/user.slice', '/cg/user.slice/howdah.service'],
  ],
  ['outside of what it sees', '0::/../../init.scope\n', ['/cg']],
  ['in no group of version 2', '5:memory:/x\n', ['/cg']],
])('the groups around a process that is %s, from the top down', (_, memberships, groups) => {
  expect(groupsAround('/cg', memberships)).toEqual(groups)
})

test.each([
  [2, { cpu_millis: 500, memory_gbs: 2 }, 'cpu.weight=100 cpu.max=50000 100000 memory.max=2147483648'],
  [2, { cpu_millis: 32_000, memory_gbs: 128 }, 'cpu.weight=100 cpu.max=3200000 100000 memory.max=137438953472'],
  [2, 'starting', 'cpu.weight=100 cpu.max=max 100000 memory.max=max'],
  [2, 'shared', 'cpu.weight=20 cpu.max=max 100000 memory.max=max'],
  [
    1,
    { cpu_millis: 500, memory_gbs: 2 },
    'cpu.shares=1024 cpu.cfs_period_us=100000 cpu.cfs_quota_us=50000 memory.limit_in_bytes=2147483648',
  ],
  [1, 'starting', 'cpu.shares=1024 cpu.cfs_period_us=100000 cpu.cfs_quota_us=-1 memory.limit_in_bytes=-1'],
  [1, 'shared', 'cpu.shares=205 cpu.cfs_period_us=100000 cpu.cfs_quota_us=-1 memory.limit_in_bytes=-1'],
] as const)('control files of version %i for %j', (version, size, expected) => {
  expect(
    controlsOf(version, size)
      .map(({ file, value }) => `${file}=${value}`)
      .join(' '),
  ).toBe(expected)
})

const installation_id = newInstallationId()
const service_id = 'a1b2c3d4e5'
const limits = await openLimits(installation_id)
const why = limits.enforced ? '' : ` (skipped: ${limits.description})`
const { hierarchy } = limits
const children: ChildProcess[] = []

afterEach(async () => {
  for (const child of children.splice(0)) child.kill('SIGKILL')
  await limits.remove(service_id)
})

const groups = () => hierarchy?.parents.map((parent) => `${parent}/${service_id}`) ?? []

function run(command: readonly string[], run_as?: { uid: number; gid: number }): string {
  const [program = '', ...args] = limits.wrap(service_id, command, run_as).command
  return execFileSync(program, args, { encoding: 'utf8', env: {}, stdio: 'pipe' })
}

function controls(): string[] {
  const found = controlsOf(hierarchy?.version ?? 1, 'shared')
  return found.map(({ controller, file }) =>
    readFileSync(`${hierarchy?.directories[controller]}/${service_id}/${file}`, 'utf8').trim(),
  )
}

test('what this host permits is said in one sentence, and trying it leaves no group behind', async () => {
  expect((await openLimits(installation_id)).description).toMatch(/^CPU and memory limits are (not )?enforced.*[^.]$/)
  expect(hierarchy?.parents.filter((parent) => existsSync(parent)) ?? []).toEqual([])
})

test.skipIf(why)(`a wrapped command runs in all groups of its service, with its own arguments${why}`, async () => {
  await limits.ensure(service_id, { cpu_millis: 500, memory_gbs: 2 })
  const memberships = run(['/bin/cat', '/proc/self/cgroup']).split('\n')
  const ours = memberships.filter((line) => line.endsWith(`/howdah-${installation_id}/${service_id}`))
  expect(ours.length).toBe(groups().length)
  expect(run(['/bin/echo', 'a  b', "it's"])).toBe("a  b it's\n")
})

const why_not_root = why || (process.getuid?.() === 0 ? '' : ' (skipped: only root has privileges to drop)')

test.skipIf(why_not_root)(`a wrapped command has dropped its privileges, groups included${why_not_root}`, async () => {
  await limits.ensure(service_id, 'shared')
  const status = run(['/bin/cat', '/proc/self/status'], { uid: 70_001, gid: 70_002 })
  expect(status).toMatch(/^Uid:\t70001\t70001\t70001\t70001$/m)
  expect(status).toMatch(/^Gid:\t70002\t70002\t70002\t70002$/m)
  expect(status).toMatch(/^Groups:\s*$/m)
  expect(status).toMatch(/^CapEff:\t0+$/m)
})

test.skipIf(why)(`a command is not run outside its groups${why}`, () => {
  expect(() => run(['/bin/echo', 'ran'])).toThrow(expect.objectContaining({ status: 125, stdout: '' }))
})

test.skipIf(why)(`limits follow the size while a process runs, up, down and away${why}`, async () => {
  await limits.ensure(service_id, { cpu_millis: 500, memory_gbs: 2 })
  const [program = '', ...args] = limits.wrap(service_id, ['/bin/sleep', '600'], undefined).command
  const child = spawn(program, args)
  children.push(child)
  await until(() => groups().every((group) => readFileSync(`${group}/cgroup.procs`, 'utf8').includes(`${child.pid}`)))
  const small = controls()
  await limits.ensure(service_id, { cpu_millis: 2000, memory_gbs: 8 })
  const large = controls()
  expect(large.join(' ')).toContain(`${8 * 1024 ** 3}`)
  expect(large.join(' ')).toContain('200000')
  await limits.ensure(service_id, 'shared')
  expect(controls().join(' ')).not.toContain(`${8 * 1024 ** 3}`)
  await limits.ensure(service_id, { cpu_millis: 500, memory_gbs: 2 })
  expect(controls()).toEqual(small)
})

test.skipIf(why)(`a process that wants more CPU than its size has is held back${why}`, async () => {
  await limits.ensure(service_id, { cpu_millis: 50, memory_gbs: 2 })
  const [program = '', ...args] = limits.wrap(service_id, ['/bin/sh', '-c', 'while :; do :; done'], undefined).command
  children.push(spawn(program, args))
  const file = `${hierarchy?.directories.cpu}/${service_id}/cpu.stat`
  await until(() => /^nr_throttled [1-9]/m.test(readFileSync(file, 'utf8')))
})

test.skipIf(why)(
  `removing waits for a process on its way out, and is content when nothing is there${why}`,
  async () => {
    await limits.ensure(service_id, 'shared')
    const [program = '', ...args] = limits.wrap(service_id, ['/bin/sleep', '600'], undefined).command
    const child = spawn(program, args)
    children.push(child)
    await until(() => groups().every((group) => readFileSync(`${group}/cgroup.procs`, 'utf8').includes(`${child.pid}`)))
    const removing = limits.remove(service_id)
    child.kill('SIGKILL')
    await removing
    expect(groups().filter((group) => existsSync(group))).toEqual([])
    await limits.remove(service_id)
  },
)

test.skipIf(why)(`services made and removed at once do not take the parent from each other${why}`, async () => {
  const ids = Array.from({ length: 8 }, (_, index) => `service${index}`)
  for (let round = 0; round < 5; round++) {
    await Promise.all(
      ids.map(async (id) => {
        await limits.ensure(id, 'shared')
        await limits.remove(id)
      }),
    )
  }
  const left = hierarchy?.parents.filter((parent) => existsSync(parent)).flatMap((parent) => readdirSync(parent)) ?? []
  expect(left.filter((name) => name.startsWith('service'))).toEqual([])
})
