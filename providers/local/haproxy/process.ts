// HAProxy as a daemon that outlives us, under the service's user. What runs is found by asking it over its control socket; one
// that does not answer is as good as gone. New settings are taken over by a new process: where it may, it gets the listening
// sockets from the old one, so that nobody is refused and open connections stay where they are.
import type { ChildProcess } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Endpoint, Size, WantedNetwork } from '../../provider.ts'
import { commandOf, endProcesses, isStopped, spawnDaemon } from '../host/daemon.ts'
import { ensureEntryRemoved, ensureFile, ensureRemoved } from '../host/effect.ts'
import { listHostProcesses } from '../host/process.ts'
import { readIfThere, statIfThere } from '../host/look.ts'
import type { Place } from '../host/layout.ts'
import { ensureGroupGone } from '../host/leftovers.ts'
import type { Machine } from '../host/machine.ts'
import { portIsFree } from '../postgres/port.ts'
import { findProgram } from '../host/program.ts'
import { findEntry } from '../host/tenant-files.ts'
import { isInNetwork, networkPrefix } from '../network/service-network.ts'
import { entering } from '../host/daemon.ts'
import { askHaproxy, fieldOf } from './control.ts'
import { controlSocketOf, type HaproxyName, type HaproxySettings } from './settings.ts'

export type HaproxyWish = {
  /** Of the service or the replica set: its home, user and socket folder. */
  place: Place
  name: HaproxyName
  settings: HaproxySettings
  listen: readonly Endpoint[]
  size: Size
  /** In which it listens; absent: in the host's. */
  network: WantedNetwork | undefined
  /** Whether one with other settings goes on with the connections that it has. */
  gracefully: boolean
}

/** `died`: one was there and had ended by itself. */
export type HaproxySeen = { pid: number; died: boolean }

const look_every_ms = 5
/** One that runs answers well within it, unless the machine is very busy. */
const answer_soon_ms = 50
const start_wait_ms = 5_000
const kill_wait_ms = 5_000
const sentence_chars_max = 300

export const findHaproxyProgram = () => findProgram('haproxy')

/** One that runs with these settings; a sentence when there is none. */
export async function ensureHaproxy(host: Machine, wish: HaproxyWish): Promise<HaproxySeen | string> {
  const { place, name, settings, network } = wish
  const program = await findHaproxyProgram()
  if (program === undefined) return 'HAProxy is missing on this host; install it with apt-get install haproxy'
  await ensureFile(host.effect, `${name} settings`, settingsPathOf(place, name), settings.text, place.owner)
  await host.effect(`${name}: limits`)
  await host.limits.ensure(groupOf(place, name), wish.size)
  const anywhere = await findHaproxy(place, name)
  // One in another network cannot hand over its sockets: it is as good as gone.
  const found = anywhere && (await isInNetwork(host, network, anywhere.pid)) ? anywhere : undefined
  const died = anywhere === undefined && (await hasHaproxy(place, name))
  const running = found?.hash === settings.hash ? found : await start(host, wish, program, found)
  return typeof running === 'string' ? running : { pid: running.pid, died }
}

/** Whether one was started and not ended by us; it may be dead. */
export async function hasHaproxy(place: Place, name: HaproxyName): Promise<boolean> {
  return findEntry(place.service_sockets, name) !== undefined
}

/** No process of it is left. */
export async function ensureHaproxyEnded(host: Machine, place: Place, name: HaproxyName): Promise<void> {
  if ((await statIfThere(settingsPathOf(place, name))) === undefined) return
  await endAll(host, place, name)
  await ensureEntryRemoved(host.effect, name, place.service_sockets, name)
}

export async function ensureHaproxyGone(host: Machine, place: Place, name: HaproxyName): Promise<void> {
  if ((await statIfThere(settingsPathOf(place, name))) === undefined) return
  await ensureHaproxyEnded(host, place, name)
  await host.effect(`${name}: limits removed`)
  await ensureGroupGone(host, groupOf(place, name))
  for (const path of [outputPathOf(place, name), settingsPathOf(place, name)]) {
    await ensureRemoved(host.effect, name, path)
  }
}

export type HaproxyFound = { pid: number; hash: string | undefined }

/** One that answers. */
export async function findHaproxy(place: Place, name: HaproxyName): Promise<HaproxyFound | undefined> {
  const asked = askHaproxy(place.service_sockets, name, 'show info')
  const soon = await Promise.race([asked.then(() => true), pause(answer_soon_ms, false)])
  // One that was stopped would not answer before its time is over.
  if (!soon && (await hasStopped(place, name))) return undefined
  const info = await asked
  if (info === undefined) return undefined
  return { pid: Number(fieldOf(info, 'Pid')), hash: fieldOf(info, 'description') }
}

async function hasStopped(place: Place, name: HaproxyName): Promise<boolean> {
  const stopped = (await listHostProcesses()).map(({ pid }) => pid).filter(isStopped)
  return (await Promise.all(stopped.map((pid) => isOurs(place, name, pid)))).includes(true)
}

async function start(
  host: Machine,
  { place, name, listen, network, settings, gracefully }: HaproxyWish,
  program: string,
  running: HaproxyFound | undefined,
): Promise<HaproxyFound | string> {
  const old = gracefully ? running : undefined
  if (old === undefined) {
    // Of one that hangs, too.
    await endAll(host, place, name)
    for (const { host: address, port } of network ? [] : listen) {
      if (await portIsFree(address, port)) continue
      return `port ${port} on ${address} is in use by another program; it starts when the port is free`
    }
  }
  const takeover = old === undefined ? [] : ['-x', controlSocketOf(place.service_sockets, name), '-sf', String(old.pid)]
  await host.effect(`${name}: spawn`)
  const command = [program, '-db', '-q', '-f', settingsPathOf(place, name), ...takeover]
  const child = await spawn(host, { place, name, network }, command)
  let broken: Error | undefined
  child.on('error', (error) => {
    broken = error
  })
  child.unref()
  for (const deadline = performance.now() + start_wait_ms; performance.now() < deadline; await pause(look_every_ms)) {
    const found = await findHaproxy(place, name)
    if (found?.hash === settings.hash) return found
    if (broken !== undefined || child.exitCode !== null || child.signalCode !== null) break
  }
  return `the ${name} did not start: ${broken?.message ?? (await lastWordsOf(place, name))}`
}

async function spawn(
  host: Machine,
  { place, name, network }: Pick<HaproxyWish, 'place' | 'name' | 'network'>,
  command: readonly string[],
): Promise<ChildProcess> {
  const wrapped = host.limits.wrap(groupOf(place, name), command, place.owner)
  await rm(outputPathOf(place, name), { force: true })
  return await spawnDaemon(entering(networkPrefix(host, network), wrapped), {
    path: outputPathOf(place, name),
    flags: 'wx',
  })
}

/** All of them: one that was replaced lives on until its last customer has gone. */
async function endAll(host: Machine, place: Place, name: HaproxyName): Promise<void> {
  const end = { what: `${name}: kill`, whose: `the ${name} of ${place.service_id}`, wait_ms: kill_wait_ms }
  await endProcesses(host.effect, (pid) => isOurs(place, name, pid), end)
}

async function isOurs(place: Place, name: HaproxyName, pid: number): Promise<boolean> {
  const argv = await commandOf(pid)
  if (argv[argv.indexOf('-f') + 1] !== settingsPathOf(place, name)) return false
  return place.owner === undefined || (await statIfThere(`/proc/${pid}`))?.uid === place.owner.uid
}

async function lastWordsOf(place: Place, name: HaproxyName): Promise<string> {
  const lines = ((await readIfThere(outputPathOf(place, name))) ?? '').split('\n').filter((line) => line.trim() !== '')
  const line = lines.findLast((said) => said.includes('[ALERT]')) ?? lines.at(-1) ?? 'it gave no reason'
  return line.replace(/^\[\w+\]\s+(\(\d+\) : )?/, '').slice(0, sentence_chars_max)
}

const settingsPathOf = (place: Place, name: HaproxyName) => join(place.home, `${name}.cfg`)
const outputPathOf = (place: Place, name: HaproxyName) => join(place.home, `${name}.log`)
const groupOf = (place: Place, name: HaproxyName) => `${place.service_id}-${name}`
