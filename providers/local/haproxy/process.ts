// HAProxy as a daemon that outlives the server, under the service's user. It is found by asking it over its control socket; a
// process that does not answer counts as dead. New settings are taken over by a new process: where possible, it gets the listening
// sockets from the old one, so that no client is refused and open connections stay where they are.
import type { ChildProcess } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Endpoint, Size } from '../../provider.ts'
import { commandOf, entering, findStarted, isStopped, killProcesses, spawnDaemon, uidOf } from '../../host/daemon.ts'
import { ensureEntryRemoved, ensureFile, ensureRemoved } from '../host/effect.ts'
import { listHostProcesses } from '../../host/process.ts'
import { readIfThere, statIfThere } from '../../host/read.ts'
import type { Node } from '../host/layout.ts'
import { ensureGroupRemoved } from '../host/leftovers.ts'
import type { Machine } from '../host/machine.ts'
import { portTrouble } from '../postgres/port.ts'
import { findProgram } from '../../host/program.ts'
import { findEntry } from '../host/tenant-files.ts'
import { isInNetwork, networkPrefix } from '../network/service-network.ts'
import { askHaproxy, fieldOf } from './control.ts'
import { controlSocketOf, type HaproxyName, type HaproxySettings } from './settings.ts'

type HaproxySpec = {
  /** Of the service or the replica set: its home, user and socket folder. */
  node: Node
  name: HaproxyName
  settings: HaproxySettings
  listen: readonly Endpoint[]
  size: Size
  /** In which it listens; absent: in the host's. */
  vpc_id: string | undefined
  /** Whether a process with other settings keeps its open connections. */
  gracefully: boolean
}

/** `died`: the process before had died by itself. */
type ObservedHaproxy = { pid: number; died: boolean }

const poll_every_ms = 5
/** A running process answers well within it, unless the machine is very busy. */
const answer_soon_ms = 50
const start_wait_ms = 5_000
const kill_wait_ms = 5_000
const sentence_chars_max = 300

export const findHaproxyProgram = () => findProgram('haproxy')

/** The process that runs with these settings; a sentence when there is none. */
export async function ensureHaproxy(host: Machine, spec: HaproxySpec): Promise<ObservedHaproxy | string> {
  const { node, name, settings, vpc_id } = spec
  const program = await findHaproxyProgram()
  if (program === undefined) return 'HAProxy is missing on this host; install it with apt-get install haproxy'
  await ensureFile(host.effect, `${name} settings`, settingsPathOf(node, name), settings.text, node.owner)
  await host.effect(`${name}: limits`)
  await host.limits.ensure(groupOf(node, name), spec.size)
  const anywhere = await findHaproxy(node, name)
  // A process in another network cannot hand over its sockets: it counts as dead.
  const found = anywhere && (await isInNetwork(host, vpc_id, anywhere.pid)) ? anywhere : undefined
  const died = anywhere === undefined && (await hasHaproxy(node, name))
  const running = found?.hash === settings.hash ? found : await start(host, spec, program, found)
  return typeof running === 'string' ? running : { pid: running.pid, died }
}

/** Whether it was started and not stopped by a server; it may be dead. */
export async function hasHaproxy(node: Node, name: HaproxyName): Promise<boolean> {
  return findEntry(node.service_sockets, name) !== undefined
}

/** Afterwards none of its processes is left. */
export async function ensureHaproxyStopped(host: Machine, node: Node, name: HaproxyName): Promise<void> {
  if ((await statIfThere(settingsPathOf(node, name))) === undefined) return
  await endAll(host, node, name)
  await ensureEntryRemoved(host.effect, name, node.service_sockets, name)
}

export async function ensureHaproxyRemoved(host: Machine, node: Node, name: HaproxyName): Promise<void> {
  if ((await statIfThere(settingsPathOf(node, name))) === undefined) return
  await ensureHaproxyStopped(host, node, name)
  await host.effect(`${name}: limits removed`)
  await ensureGroupRemoved(host, groupOf(node, name))
  for (const path of [outputPathOf(node, name), settingsPathOf(node, name)]) {
    await ensureRemoved(host.effect, name, path)
  }
}

type HaproxyFound = { pid: number; hash: string | undefined }

/** The process that answers. */
export async function findHaproxy(node: Node, name: HaproxyName): Promise<HaproxyFound | undefined> {
  const asked = askHaproxy(node.service_sockets, name, 'show info')
  const soon = await Promise.race([asked.then(() => true), pause(answer_soon_ms, false)])
  // A stopped process (SIGSTOP) would not answer before the timeout.
  if (!soon && (await hasStopped(node, name))) return undefined
  const info = await asked
  if (info === undefined) return undefined
  return { pid: Number(fieldOf(info, 'Pid')), hash: fieldOf(info, 'description') }
}

async function hasStopped(node: Node, name: HaproxyName): Promise<boolean> {
  const stopped = (await listHostProcesses()).map(({ pid }) => pid).filter(isStopped)
  return (await Promise.all(stopped.map((pid) => isOurs(node, name, pid)))).includes(true)
}

async function start(
  host: Machine,
  { node, name, listen, vpc_id, settings, gracefully }: HaproxySpec,
  program: string,
  running: HaproxyFound | undefined,
): Promise<HaproxyFound | string> {
  const old = gracefully ? running : undefined
  if (old === undefined) {
    // Also a process that hangs.
    await endAll(host, node, name)
    for (const at of listen) {
      const taken = await portTrouble(at, vpc_id)
      if (taken !== undefined) return taken
    }
  }
  const takeover = old === undefined ? [] : ['-x', controlSocketOf(node.service_sockets, name), '-sf', String(old.pid)]
  await host.effect(`${name}: spawn`)
  const command = [program, '-db', '-q', '-f', settingsPathOf(node, name), ...takeover]
  const child = await spawn(host, { node, name, vpc_id }, command)
  const findNew = async () => {
    const found = await findHaproxy(node, name)
    return found?.hash === settings.hash ? found : undefined
  }
  const started = await findStarted(child, findNew, { wait_ms: start_wait_ms, poll_ms: poll_every_ms })
  if (started !== undefined && !(started instanceof Error)) return started
  return `the ${name} did not start: ${started?.message ?? (await lastWordsOf(node, name))}`
}

async function spawn(
  host: Machine,
  { node, name, vpc_id }: Pick<HaproxySpec, 'node' | 'name' | 'vpc_id'>,
  command: readonly string[],
): Promise<ChildProcess> {
  const wrapped = host.limits.wrap(groupOf(node, name), command, node.owner)
  await rm(outputPathOf(node, name), { force: true })
  return await spawnDaemon(entering(networkPrefix(host, vpc_id), wrapped), {
    path: outputPathOf(node, name),
    flags: 'wx',
  })
}

/** All of them: a replaced process lives on until its last client disconnects. */
async function endAll(host: Machine, node: Node, name: HaproxyName): Promise<void> {
  const end = { what: `${name}: kill`, whose: `the ${name} of ${node.service_id}`, wait_ms: kill_wait_ms }
  await killProcesses(host.effect, (pid) => isOurs(node, name, pid), end)
}

async function isOurs(node: Node, name: HaproxyName, pid: number): Promise<boolean> {
  const argv = await commandOf(pid)
  if (argv[argv.indexOf('-f') + 1] !== settingsPathOf(node, name)) return false
  return (await statIfThere(`/proc/${pid}`))?.uid === uidOf(node.owner)
}

async function lastWordsOf(node: Node, name: HaproxyName): Promise<string> {
  const lines = ((await readIfThere(outputPathOf(node, name))) ?? '').split('\n').filter((line) => line.trim() !== '')
  const line = lines.findLast((said) => said.includes('[ALERT]')) ?? lines.at(-1) ?? 'it gave no reason'
  return line.replace(/^\[\w+\]\s+(\(\d+\) : )?/, '').slice(0, sentence_chars_max)
}

const settingsPathOf = (node: Node, name: HaproxyName) => join(node.home, `${name}.cfg`)
const outputPathOf = (node: Node, name: HaproxyName) => join(node.home, `${name}.log`)
const groupOf = (node: Node, name: HaproxyName) => `${node.service_id}-${name}`
