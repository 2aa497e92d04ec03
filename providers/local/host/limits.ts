// CPU and memory limits of a service's processes through control groups: version 2, or version 1 where only that has the
// controllers. Promises: a process is in its group before its program starts; limits change while it runs; groups of
// one installation lie under one parent, howdah-<installation_id>. It never kills a process. Where the host does not permit
// groups, it reports why once and does nothing.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { mkdir, readdir, rmdir, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Size } from '../../provider.ts'
import { asUser } from '../../host/daemon.ts'
import { parseMounts } from '../../host/mounts.ts'
import { mayGiveUsers } from '../../host/privilege.ts'
import { type Owner, unprivileged } from '../../host/user-map.ts'
import { system_env } from '../../host/program.ts'
import { messageOf } from '../../host/message.ts'
import { errorCode, textOrNothing } from '../../host/read.ts'

export type Limits = {
  /** For people: what is enforced, or why nothing is and how to permit it. */
  description: string
  enforced: boolean
  /** Where the groups are; absent where there are none. */
  hierarchy?: Hierarchy
  /**
   * The command that joins the service's groups, drops its privileges and becomes the given one, in the same process.
   * The groups must be ensured first; outside them it does not run.
   */
  wrap(
    service_id: string,
    command: readonly string[],
    run_as: Owner | undefined,
  ): { command: string[]; uid?: number; gid?: number }
  ensure(service_id: string, size: Size | 'starting'): Promise<void>
  /** Waits briefly for exiting processes. */
  remove(service_id: string): Promise<void>
}

/**
 * Finds out by doing: makes a group, limits it, runs a process in it and removes it. At the top of the hierarchy, which is
 * root's, or else at the uppermost of the groups around this process that was delegated to its user. If that is the one with
 * the process itself, the kernel refuses. The process does not step aside: systemd could not start it there again while
 * databases run.
 */
export async function openLimits(installation_id: string): Promise<Limits> {
  assertId(installation_id)
  const mounted = parseCgroupMounts(textOrNothing('/proc/self/mountinfo'))
  const around = mounted.v2 === undefined ? [] : groupsAround(mounted.v2, textOrNothing('/proc/self/cgroup'))
  let reason = 'this host has no cpu and memory control groups mounted'
  for (const mounts of around.length === 0 ? [mounted] : around.map((v2) => ({ ...mounted, v2 }))) {
    const controllers = mounts.v2 ? textOrNothing(join(mounts.v2, 'cgroup.controllers')) : ''
    const hierarchy = hierarchyOf(mounts, controllers, `howdah-${installation_id}`)
    if (!hierarchy) continue
    const limits = limitsIn(hierarchy)
    const failure = await tryOut(limits, hierarchy)
    if (failure === undefined) return limits
    reason = `control groups cannot be used (${failure})`
    if (hierarchy.version === 1) break
  }
  return noLimits(reason)
}

/** From the top down: where version 2 is mounted, and each group of it that /proc/self/cgroup says this process is in. */
export function groupsAround(mount: string, memberships: string): string[] {
  const names = /^0::\/(.*)$/m.exec(memberships)?.[1]?.split('/').filter(Boolean) ?? []
  // A process that was moved out of its cgroup namespace is in none of the groups that it sees.
  if (names.includes('..')) return [mount]
  return [mount, ...names.map((_, index) => join(mount, ...names.slice(0, index + 1)))]
}

/** Why not, or undefined. */
async function tryOut(limits: Limits, hierarchy: Hierarchy): Promise<string | undefined> {
  const probe_id = `probe-${process.pid}-${randomBytes(4).toString('hex')}`
  try {
    await removeOldProbes(hierarchy)
    await limits.ensure(probe_id, { cpu_millis: 500, memory_gbs: 1 })
    const run_as = mayGiveUsers() ? unprivileged : undefined
    const [program = '', ...args] = limits.wrap(probe_id, ['/bin/true'], run_as).command
    await promisify(execFile)(program, args, { env: system_env })
    return await limits.remove(probe_id).then(() => undefined)
  } catch (error) {
    await limits.remove(probe_id).catch(() => undefined)
    return messageOf(error).split('\n')[0]
  }
}

type CgroupMounts = { v2?: string; v1: ReadonlyMap<string, string> }

/** Reads /proc/self/mountinfo: where version 2 is mounted, and each controller of version 1. The first mount of each counts. */
export function parseCgroupMounts(mountinfo: string): CgroupMounts {
  let v2: string | undefined
  const v1 = new Map<string, string>()
  for (const { path, type, options } of parseMounts(mountinfo)) {
    if (type === 'cgroup2') v2 ??= path
    if (type !== 'cgroup') continue
    for (const option of options) if (!v1.has(option)) v1.set(option, path)
  }
  return v2 === undefined ? { v1 } : { v2, v1 }
}

/** One parent directory for each mount that matters. The control files of a group are named relative to its controller's. */
export type Hierarchy = { version: 1 | 2; parents: readonly string[]; directories: { cpu: string; memory: string } }

export function hierarchyOf(mounts: CgroupMounts, v2_controllers: string, parent_name: string): Hierarchy | undefined {
  const offered = new Set(v2_controllers.trim().split(/\s+/))
  if (mounts.v2 !== undefined && offered.has('cpu') && offered.has('memory')) {
    const parent = join(mounts.v2, parent_name)
    return { version: 2, parents: [parent], directories: { cpu: parent, memory: parent } }
  }
  const [cpu, memory] = [mounts.v1.get('cpu'), mounts.v1.get('memory')]
  if (cpu === undefined || memory === undefined) return undefined
  const directories = { cpu: join(cpu, parent_name), memory: join(memory, parent_name) }
  // cpuacct counts processor time; it is often, but not always, mounted together with cpu.
  const counting = mounts.v1.has('cpuacct') ? [join(mounts.v1.get('cpuacct') ?? '', parent_name)] : []
  return { version: 1, parents: [...new Set([directories.cpu, directories.memory, ...counting])], directories }
}

/**
 * What the control files must hold, in the order of writing. `starting`: a burst of work for which a client waits, which
 * neither a quota nor the small share of a service among many must slow down.
 */
export function controlsOf(
  version: 1 | 2,
  size: Size | 'starting',
): { controller: 'cpu' | 'memory'; file: string; value: string }[] {
  const unlimited = version === 2 ? 'max' : '-1'
  const quota = typeof size === 'string' ? unlimited : String((size.cpu_millis * period_us) / 1000)
  const memory = typeof size === 'string' ? unlimited : String(size.memory_gbs * 1024 ** 3)
  if (version === 2) {
    return [
      { controller: 'cpu', file: 'cpu.weight', value: size === 'shared' ? '20' : '100' },
      { controller: 'cpu', file: 'cpu.max', value: `${quota} ${period_us}` },
      { controller: 'memory', file: 'memory.max', value: memory },
    ]
  }
  return [
    { controller: 'cpu', file: 'cpu.shares', value: size === 'shared' ? '205' : '1024' },
    { controller: 'cpu', file: 'cpu.cfs_period_us', value: String(period_us) },
    { controller: 'cpu', file: 'cpu.cfs_quota_us', value: quota },
    { controller: 'memory', file: 'memory.limit_in_bytes', value: memory },
  ]
}

/** The kernel's own default: short enough that a throttled query pauses for a tenth of a second at most. */
const period_us = 100_000
/**
 * The file by which the shell, which has one thread, joins a group. Version 1 lets a thread move alone, for which the kernel stops no
 * other; a move of whole processes waits until all processors have paused, ten milliseconds and more for each group.
 */
const joining = { 1: 'tasks', 2: 'cgroup.procs' } as const
/** How long a group may still have processes that were told to stop. */
const leave_timeout_ms = 5000
const ensure_attempts = 10

function limitsIn(hierarchy: Hierarchy): Limits {
  const groups = (service_id: string) => {
    assertId(service_id)
    return hierarchy.parents.map((parent) => join(parent, service_id))
  }
  return {
    description: `CPU and memory limits are enforced through control groups, version ${hierarchy.version}`,
    enforced: true,
    hierarchy,
    wrap(service_id, command, run_as) {
      const files = groups(service_id).map((group) => quote(join(group, joining[hierarchy.version])))
      const script = `for f in ${files.join(' ')}; do echo 0 > "$f" || exit 125; done; exec "$@"`
      return { command: ['/bin/sh', '-c', script, 'sh', ...asUser(run_as ?? {}), ...command] }
    },
    async ensure(service_id, size) {
      for (let attempt = 1; ; attempt++) {
        try {
          for (const group of groups(service_id)) await ensureGroup(group, hierarchy)
          return await writeControls(service_id, size, hierarchy)
        } catch (error) {
          // The removal of another service may remove the parent, empty for a moment, while it is about to be used.
          if (errorCode(error) !== 'ENOENT' || attempt === ensure_attempts) throw error
        }
      }
    },
    async remove(service_id) {
      for (const group of groups(service_id)) {
        await removeGroup(group)
        // The parent is removed with the last service; while there are others, or it is not ours to remove, it stays.
        await rmdir(dirname(group)).catch(() => undefined)
      }
    },
  }
}

function noLimits(reason: string): Limits {
  return {
    description: `CPU and memory limits are not enforced, because ${reason}; to have them enforced run the server as root on a host with writable control groups, or as a unit of the user's own systemd`,
    enforced: false,
    wrap: (_, command, run_as) => ({ command: [...command], ...run_as }),
    ensure: async () => undefined,
    remove: async () => undefined,
  }
}

async function ensureGroup(group: string, hierarchy: Hierarchy): Promise<void> {
  if (!existsSync(group)) await mkdir(group, { recursive: true })
  if (hierarchy.version === 1) return
  const parent = dirname(group)
  for (const above of [dirname(parent), parent]) {
    const file = join(above, 'cgroup.subtree_control')
    const enabled = new Set(readFileSync(file, 'utf8').trim().split(' '))
    if (!enabled.has('cpu') || !enabled.has('memory')) await writeFile(file, '+cpu +memory')
  }
}

/** Read synchronously, as in read.ts: the kernel has them in memory. */
async function writeControls(service_id: string, size: Size | 'starting', hierarchy: Hierarchy): Promise<void> {
  for (const { controller, file, value } of controlsOf(hierarchy.version, size)) {
    const path = join(hierarchy.directories[controller], service_id, file)
    if (meaningOf(readFileSync(path, 'utf8')) !== value) await writeFile(path, value)
  }
}

/** Version 1 shows "no memory limit" as the largest number of pages, in bytes. */
function meaningOf(text: string): string {
  const value = text.trim()
  return Number(value) > 2 ** 62 ? '-1' : value
}

async function removeGroup(group: string): Promise<void> {
  const deadline = performance.now() + leave_timeout_ms
  for (;;) {
    try {
      return await rmdir(group)
    } catch (error) {
      if (errorCode(error) === 'ENOENT') return
      if (errorCode(error) !== 'EBUSY' || performance.now() > deadline) throw error
      await delay(20)
    }
  }
}

/** Of a process that was killed while probing; those of living processes are in use. */
async function removeOldProbes(hierarchy: Hierarchy): Promise<void> {
  for (const parent of hierarchy.parents) {
    for (const name of await readdir(parent).catch(() => [])) {
      const pid = /^probe-(\d+)-/.exec(name)?.[1]
      if (pid !== undefined && !isAlive(Number(pid))) await rmdir(join(parent, name)).catch(() => undefined)
    }
  }
}

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return errorCode(error) === 'EPERM'
  }
}

/** Ids become directory names and arguments of a shell script. */
function assertId(id: string): void {
  assert.match(id, /^[a-z0-9-]{1,64}$/, 'an id consists of small letters, digits and dashes')
}

function quote(word: string): string {
  return `'${word.replaceAll("'", `'\\''`)}'`
}
