// The postmaster of a service: found, started, stopped. It is a daemon that outlives the server, so no state about it is kept.
import type { ChildProcess } from 'node:child_process'
import { readlink, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { commandOf, killProcesses, entering, isStopped, spawnDaemon, uidOf } from '../../host/daemon.ts'
import { ensureEntryRemoved, ensureRemoved, type Effect } from '../host/effect.ts'
import { isDiskFull, readIfThere, statIfThere } from '../../host/read.ts'
import { groupOf, type Node } from '../host/layout.ts'
import { listNames, Planted, readText } from '../host/tenant-files.ts'
import type { Limits } from '../host/limits.ts'
import { ensureSince } from '../host/since.ts'
import { untilNextPoll } from '../../host/poll.ts'
import { findRunning, endsWithin, isPostmaster, pid_file, signalPostmaster } from '../../host/postmaster.ts'
import { outOfMemoryEnv } from './out-of-memory.ts'
import { startFailure } from './start-log.ts'

/** The hashes are of what it was started with: settings that need a restart, and files that it can read again. */
export type Postmaster = {
  pid: number
  ready: boolean
  stopping: boolean
  settings_hash: string | undefined
  files_hash: string | undefined
}

/** `died`: the postmaster of the pid file does not run, so it died by itself. */
export type Found = { postmaster: Postmaster | undefined; died: boolean }

export const still_starting = 'PostgreSQL is starting; it may be recovering from a crash'
export const still_stopping = 'PostgreSQL is stopping'
export const killed_at_start = 'PostgreSQL was killed while it started'
/** Of a replay: no setback, for the parent may have done nothing more before the moment. */
export const end_of_wal = 'its WAL is replayed to its end, which is before the moment'

const ended_before_target = 'recovery ended before configured recovery target was reached'
const start_wait_ms = 6_000
const stop_wait_ms = 8_000
const stop_patience_ms = 60_000
const kill_wait_ms = 5_000

export async function findPostmaster(node: Node): Promise<Found> {
  const pid_text = readText(node.data, pid_file)
  const found = pid_text === undefined ? undefined : await findRunning(node, pid_text)
  if (!found) return { postmaster: undefined, died: pid_text !== undefined }
  const { words, ...running } = found
  const name = words.find((word) => word.startsWith('cluster_name='))
  const [, , settings_hash, files_hash] = name?.split('/') ?? []
  return { postmaster: { ...running, settings_hash, files_hash }, died: false }
}

export type Hashes = { settings_hash: string; files_hash: string }

/** network_prefix: the command prefix that brings it into its network; absent: it stays in the host's. */
type Start = Hashes & {
  bin: string
  network_prefix?: readonly string[] | undefined
  /** No client may log in while it is in recovery. */
  closed_in_recovery?: boolean
}

/** Starts a postmaster where none runs and waits until it is ready. A sentence when it is not, or not yet. */
export async function startPostmaster(
  effect: Effect,
  node: Node,
  { limits, died, ...start }: Start & { limits: Limits; died: boolean },
): Promise<Postmaster | string> {
  if (died) await endLeftovers(effect, node)
  await removeStaleLocks(effect, node)
  await ensureRemoved(effect, 'stop marker', node.stopping)
  await ensureRemoved(effect, 'reload marker', node.reloaded)
  const started_at = Date.now()
  await effect('postmaster: spawn')
  const child = await spawnPostmaster(node, start, limits)
  let broken: Error | undefined
  child.on('error', (error) => {
    broken = error
  })
  child.unref()
  const ended = () => broken !== undefined || child.exitCode !== null || child.signalCode !== null
  const postmaster = await readyPostmaster(node, ended)
  if (postmaster) return postmaster
  if (!ended()) return still_starting
  if (child.signalCode === 'SIGKILL') return killed_at_start
  const failure = broken?.message ?? (await startFailure(node, started_at))
  return failure === ended_before_target ? end_of_wal : `PostgreSQL did not start: ${failure}`
}

/** The postmaster once it is ready; undefined when it exited, or is not ready within seconds. */
export async function readyPostmaster(node: Node, ended?: () => boolean): Promise<Postmaster | undefined> {
  for (const began = performance.now(); performance.now() - began < start_wait_ms; await untilNextPoll(began)) {
    const { postmaster } = await findPostmaster(node)
    if (postmaster?.ready) return postmaster
    if (ended ? ended() : !postmaster) return undefined
  }
  return undefined
}

/** Stops the postmaster cleanly, so that nothing has to be recovered. A sentence when that takes longer. */
export async function ensureStopped(effect: Effect, node: Node): Promise<string | undefined> {
  const { postmaster, died } = await findPostmaster(node)
  if (postmaster) {
    const told_ms = await ensureSince(effect, 'stop marker', node.stopping, String(postmaster.pid))
    const impatient = told_ms > stop_patience_ms
    await sendSignal(effect, node, postmaster.pid, impatient ? 'SIGQUIT' : 'SIGINT')
    // It does not stop while it stands still (SIGSTOP).
    if (isStopped(postmaster.pid)) await sendSignal(effect, node, postmaster.pid, 'SIGCONT')
    if (!(await endsWithin(node, postmaster.pid, stop_wait_ms))) return still_stopping
  }
  if (died) await endLeftovers(effect, node)
  await ensureRemoved(effect, 'stop marker', node.stopping)
  return undefined
}

/** Kills every process of a service that is being deleted. */
export async function ensureKilled(effect: Effect, node: Node): Promise<void> {
  // A planted pid file says nothing; running processes are found without it.
  const { postmaster } = await findPostmaster(node).catch(diedIfPlanted)
  if (postmaster) {
    await sendSignal(effect, node, postmaster.pid, 'SIGQUIT')
    await endsWithin(node, postmaster.pid, kill_wait_ms)
  }
  await endLeftovers(effect, node)
}

/** Tells a running postmaster to read its files again, unless it was started with them or was told already. */
export async function ensureReloaded(effect: Effect, node: Node, postmaster: Postmaster, files_hash: string) {
  const [pid, hash] = (await readIfThere(node.reloaded))?.split(/\s/) ?? []
  const in_force = pid === String(postmaster.pid) ? hash : postmaster.files_hash
  if (in_force === files_hash) return
  await sendSignal(effect, node, postmaster.pid, 'SIGHUP')
  const marker = `${postmaster.pid} ${files_hash}`
  await ensureSince(effect, 'reload marker', node.reloaded, marker).catch((error: unknown) => {
    // A full disk has no space for it: then the server is told once more in the next pass.
    if (!isDiskFull(error)) throw error
  })
}

async function spawnPostmaster(
  node: Node,
  { bin, network_prefix = [], closed_in_recovery = false, ...hashes }: Start,
  limits: Limits,
): Promise<ChildProcess> {
  const cluster_name = ['howdah', node.service_id, hashes.settings_hash, hashes.files_hash].join('/')
  const settings = ['-c', `config_file=${node.settings}`, '-c', `cluster_name=${cluster_name}`]
  if (closed_in_recovery) settings.push('-c', 'hot_standby=off')
  const postgres = [join(bin, 'postgres'), '-D', node.data, ...settings]
  const wrapped = entering(network_prefix, limits.wrap(groupOf(node), postgres, node.owner))
  await rm(node.start_log, { force: true })
  return await spawnDaemon({ ...wrapped, env: outOfMemoryEnv() }, { path: node.start_log, flags: 'wx' })
}

async function sendSignal(effect: Effect, node: Node, pid: number, signal: NodeJS.Signals): Promise<void> {
  await effect(`postmaster: ${signal}`)
  await signalPostmaster(node, pid, signal)
}

/**
 * Backends of a postmaster that died, or a postmaster whose server died while starting it: while they live, the data
 * may be neither started on nor removed.
 */
async function endLeftovers(effect: Effect, node: Node): Promise<void> {
  const belongs = (pid: number) => worksHere(node, pid)
  const whose = `service ${node.service_id}`
  const ending = { what: 'leftover processes: kill', whose, uid: uidOf(node.owner), wait_ms: kill_wait_ms }
  await killProcesses(effect, belongs, ending)
  // PostgreSQL removes the pid file of a dead process, but neither an empty one nor one whose number is in use again.
  const pid = pidIn(node)
  if (!pid || (await statIfThere(`/proc/${pid}`))) {
    await ensureEntryRemoved(effect, 'stale pid file', node.data, pid_file)
  }
}

/**
 * Of the socket, by a killed server: this node's, or another node's that served here. PostgreSQL takes its owner for alive
 * while its number is in use, by another process or by a zombie.
 */
async function removeStaleLocks(effect: Effect, { sockets }: Node): Promise<void> {
  for (const name of (await listNames(sockets)).filter((one) => /^\.s\.PGSQL\.\d+\.lock$/.test(one))) {
    const [number, data = ''] = readText(sockets, name)?.split('\n') ?? []
    const pid = Number(number)
    const words = await commandOf(pid)
    if (words.includes('-D') && words.includes(data)) continue
    if (!pid || (await statIfThere(`/proc/${pid}`))) {
      await ensureEntryRemoved(effect, 'stale socket lock', sockets, name)
    }
  }
}

async function worksHere(node: Node, pid: number): Promise<boolean> {
  const cwd = await readlink(`/proc/${pid}/cwd`).catch(() => '')
  const here = cwd === node.data || cwd === `${node.data} (deleted)` || cwd.startsWith(`${node.home_removed}/`)
  return here || isPostmaster(node, pid)
}

/** Undefined also where another kind of entry has the name of the file. */
function pidIn({ data }: Node): number | undefined {
  try {
    return Number(readText(data, pid_file)?.split('\n')[0]) || undefined
  } catch (error) {
    if (error instanceof Planted) return undefined
    throw error
  }
}

function diedIfPlanted(error: unknown): Found {
  if (error instanceof Planted) return { postmaster: undefined, died: true }
  throw error
}
