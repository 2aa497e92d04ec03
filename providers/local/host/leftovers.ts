// Kills everything that runs for a service or a replica set, also processes that code of a tenant started and hid: in a session of its
// own, elsewhere, under another name. Repeated until a whole listing finds none.
//
// 1. A process is known by its control group, which it cannot leave, and as root by its user, all four of them.
// 2. Another installation of this host may run a service under the same user, for the port was free then: its processes are in its
//    own groups, or work below a home of its own that only root can have made. They are spared.
// 3. Replica sets have the user of their service. They are killed with it, and spared while only the service stops.
// 4. An ordinary user has one user for all. Without groups a process is known there by the folder that it works in and by its
//    ancestors; a process without both cannot be told from other processes.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { setTimeout as pause } from 'node:timers/promises'
import { promisify } from 'node:util'
import { signalIfThere } from '../../host/daemon.ts'
import { untilNextPoll } from '../../host/poll.ts'
import type { Effect } from './effect.ts'
import { groupsOf, killMembers, membersOf, removeInner } from './group-members.ts'
import {
  findHostProcess,
  folderOf,
  identityOf,
  isAtWork,
  listHostProcesses,
  sessionOf,
  type HostProcess,
} from '../../host/process.ts'
import { first_service_uid, type Owner } from '../../host/user-map.ts'
import type { Node } from './layout.ts'
import type { Limits } from './limits.ts'
import { system_env } from '../../host/program.ts'
import { homeOf, isIn } from './process-home.ts'

type Host = { directory: string; installation_id: string; effect: Effect; limits: Limits }

/** `user`: all processes of its user, for a service that is deleted; else those of the service, or of the set, itself. */
export type Scope = 'user' | 'service' | 'set'

type Leftovers = {
  /** After the grace, in which processes may exit by themselves, kills until none is left. */
  end(grace_ms: number): Promise<void>
}

/** After its postmaster exits, a server's log collector writes its last lines within this. */
export const last_words_ms = 1_000

const poll_every_ms = 3
const wait_ms = 8_000
const sweep_every_ms = 200

/** What goes on: a control group by its name or, where there are none, a process. */
export type Spared = { group: string; pid: number | undefined }

/** To be made before any process is told to stop: who started whom can only be read while they live. */
export async function newLeftovers(host: Host, node: Node, scope: Scope, spared?: Spared): Promise<Leftovers> {
  const whose = `${scope === 'set' ? 'replica set' : 'service'} ${node.service_id}`
  const started: Started = node.owner || host.limits.hierarchy ? new Map() : await listStarted(node)
  const user = scope === 'user' ? node.owner : undefined
  return {
    async end(grace_ms) {
      const began = performance.now()
      await untilExited([...started.keys()], grace_ms, isThere)
      const left_ms = grace_ms - (performance.now() - began)
      const listLeft = () => list(host, node, { scope, started, spared })
      await endAll(host, listLeft, { user, whose, grace_ms: left_ms, isLeft: isThere })
    },
  }
}

/** Removes the control group, after killing its processes. No process may be wanted there any more. */
export async function ensureGroupRemoved(host: Pick<Host, 'effect' | 'limits'>, group: string): Promise<void> {
  await endGroup(host, group, { grace_ms: last_words_ms, isLeft: isThere })
  if (host.limits.hierarchy) removeInner(host.limits.hierarchy, group)
  await host.limits.remove(group)
}

/** Afterwards none of its processes runs its program; they may still be giving back their memory. */
export async function ensureGroupKilled(host: Pick<Host, 'effect' | 'limits'>, group: string): Promise<void> {
  await endGroup(host, group, { grace_ms: 0, isLeft: isAtWork })
}

async function endGroup(host: Pick<Host, 'effect' | 'limits'>, group: string, end: Omit<Ending, 'whose'>) {
  const { hierarchy } = host.limits
  if (!hierarchy) return
  const listGroup = async () => ({
    ours: membersOf(hierarchy, group).filter(end.isLeft),
    others: [],
    groups: [group],
  })
  await endAll(host, listGroup, { ...end, whose: `group ${group}` })
}

const isThere = (pid: number) => findHostProcess(pid) !== undefined

/** The identities of processes by their ids. */
type Started = ReadonlyMap<number, string>

/** `others`: of the same user and not to be killed. */
type Found = { ours: number[]; others: number[]; groups: readonly string[] }

/** user: of whom no process may be left. isLeft: whether a process is still waited for. */
type Ending = { user?: Owner | undefined; whose: string; grace_ms: number; isLeft: (pid: number) => boolean }

async function endAll({ effect, limits }: Pick<Host, 'effect' | 'limits'>, list: () => Promise<Found>, ending: Ending) {
  const { user, whose, grace_ms, isLeft } = ending
  let swept_at = 0
  for (const began = performance.now(); ; await pause(poll_every_ms)) {
    const { ours, others, groups } = await list()
    const tried_ms = performance.now() - began - grace_ms
    if (ours.length === 0 && (user === undefined || others.length > 0 || swept_at > 0)) return
    if (ours.length > 0) {
      if (tried_ms < 0) {
        await untilExited(ours, -tried_ms, isLeft)
        continue
      }
      if (tried_ms > wait_ms) throw new Error(`processes ${ours.join(', ')} of ${whose} do not end`)
      await effect('leftover processes: kill')
      if (limits.hierarchy) for (const group of groups) killMembers(limits.hierarchy, group)
      for (const pid of ours) signalIfThere(pid, 'SIGKILL')
      await untilExited(ours, sweep_every_ms, isLeft)
    }
    // A process that forks faster than a listing is never found: the kernel kills all of the user's at once. Without leftovers it changes nothing.
    if (user && others.length === 0 && performance.now() - swept_at > sweep_every_ms) {
      await killAllOf(user)
      swept_at = performance.now()
    }
  }
}

/** Listing all processes of a host costs as much as reading hundreds of those that are waited for. */
async function untilExited(pids: readonly number[], ms_max: number, isLeft: Ending['isLeft']): Promise<void> {
  const began = performance.now()
  while (performance.now() - began < ms_max && pids.some(isLeft)) await untilNextPoll(began)
}

/** The kernel kills all processes of a user in one step, also those that are being forked, when a process of that user asks. */
export async function killAllOf(owner: Owner): Promise<void> {
  // Whatever else is wrong: never as a user that is not a service's.
  assert(owner.uid > first_service_uid, 'only the processes of a service are killed')
  const kill = promisify(execFile)('/bin/sh', ['-c', 'kill -KILL -1'], { ...owner, env: system_env, cwd: '/' })
  // It cannot even be started where processes are at their limit: then one by one, until it can.
  await kill.catch(() => undefined)
}

type Whose = { scope: Scope; started: Started; spared: Spared | undefined }

async function list(host: Host, node: Node, { scope, started, spared }: Whose): Promise<Found> {
  const { hierarchy } = host.limits
  const groups = hierarchy ? groupsOf(hierarchy, node.service_id).filter((group) => group !== spared?.group) : []
  const members = new Set(hierarchy ? groups.flatMap((group) => membersOf(hierarchy, group)) : [])
  // Where there are groups, a process in none of them was not started by us; only a deleted service's user must have none left.
  if (hierarchy && scope !== 'user') return { ours: [...members], others: [], groups }
  const { owner } = node
  if (!owner) return { ours: [...members, ...(await listInPlace(node, started))], others: [], groups }
  const own = ancestors()
  if (spared?.pid !== undefined) own.add(spared.pid)
  const found: Found = { ours: [...members], others: [], groups }
  for (const process of await listHostProcesses()) {
    const { pid } = process
    if (!members.has(pid) && !process.uids.includes(owner.uid)) continue
    const is_ours = members.has(pid) || isOfUser(host, node, scope, process)
    if (!is_ours) found.others.push(pid)
    else if (!own.has(pid)) found.ours.push(pid)
  }
  return found
}

async function listInPlace(node: Node, started: Started): Promise<number[]> {
  const own = ancestors()
  const wasStarted = ({ pid }: HostProcess) => started.has(pid) && started.get(pid) === identityOf(pid)
  const left = (await listHostProcesses()).filter((process) => wasStarted(process) || isOfNode(node, process))
  return left.map(({ pid }) => pid).filter((pid) => !own.has(pid))
}

/** Of a process of the service's user that is in none of its groups. */
function isOfUser(host: Host, node: Node, scope: Scope, process: HostProcess): boolean {
  const home = homeOf(host, node, process)
  if (home === 'elsewhere') return false
  if (scope === 'user') return true
  if (scope === 'set') return home === node.service_id
  return (home === undefined || home === node.service_id) && !isErrand(process)
}

/**
 * A child of a server that works as the service's user for a moment: it is in the session of its parent, which is root's. A daemon is
 * not, and no process that a daemon starts can enter that session.
 */
function isErrand({ pid, parent }: HostProcess): boolean {
  const by_root = findHostProcess(parent)?.uids.every((uid) => uid === 0) === true
  return by_root && sessionOf(parent) === sessionOf(pid)
}

/** PostgreSQL works in its data directory, and so do its children unless they change directory. */
const isOfNode = (node: Node, process: Pick<HostProcess, 'pid'>) => isIn(node, folderOf(process))

/** All descendants of the processes that work in the node's folders. */
async function listStarted(node: Node): Promise<Started> {
  const all = await listHostProcesses()
  const chosen = new Set(all.filter((process) => isOfNode(node, process)).map(({ pid }) => pid))
  for (let size = 0; size < chosen.size;) {
    size = chosen.size
    for (const { pid, parent } of all) if (chosen.has(parent)) chosen.add(pid)
  }
  for (const pid of ancestors()) chosen.delete(pid)
  return new Map([...chosen].map((pid) => [pid, identityOf(pid)]))
}

/** This process and its ancestors: a person may have started it in a folder of the service. */
function ancestors(): Set<number> {
  const found = new Set<number>()
  for (let pid = process.pid; pid > 0 && !found.has(pid); pid = findHostProcess(pid)?.parent ?? 0) found.add(pid)
  return found
}
