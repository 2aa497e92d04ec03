// The balancer of a replica set: HAProxy as a daemon that outlives us, under the service's user. What runs is found by
// asking it over its control socket; one that does not answer is as good as gone. New settings are taken over by a new
// process, which gets the listening sockets from the old one: nobody is refused, and open connections stay where they are.
import type { ChildProcess } from 'node:child_process'
import { rm } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import type { Endpoint, Happening, Size, WantedNetwork } from '../../provider.ts'
import { askBalancer, fieldOf } from './balancer-control.ts'
import { type BalancedNode, balancerSettingsOf, control_socket, controlSocketOf } from './balancer-settings.ts'
import { commandOf, endProcesses, spawnDaemon } from '../daemon.ts'
import { ensureEntryRemoved, ensureFile, ensureRemoved } from '../effect.ts'
import { readIfThere, statIfThere } from '../look.ts'
import type { Place } from '../layout.ts'
import { ensureGroupGone } from '../leftovers.ts'
import type { LocalHost } from '../local-host.ts'
import { portIsFree } from '../postgres/port.ts'
import { findProgram } from '../program.ts'
import { findEntry } from '../tenant-files.ts'
import { entering, isInNetwork, networkPrefix } from '../vpc/service-network.ts'

export type Balancing = {
  /** Of the replica set: its home, user and own socket folder. */
  place: Place
  listen: Endpoint
  nodes: readonly BalancedNode[]
  connections_max: number
  size: Size
  /** In which it listens; absent: in the host's. */
  network: WantedNetwork | undefined
}

const look_every_ms = 5
const start_wait_ms = 5_000
const kill_wait_ms = 5_000
const sentence_chars_max = 300
const refusal =
  'a replica set of several nodes needs HAProxy, which this host does not have; ' +
  'install it with apt-get install haproxy, or ask for one node'

/** What is missing on this host for a set of several nodes, and how to get it. */
export async function balancerRefusal(): Promise<string | undefined> {
  return (await findProgram('haproxy')) === undefined ? refusal : undefined
}

/** `waiting_for`: a sentence while it does not balance as wanted. */
export type BalancerSeen = { waiting_for?: string; happenings: readonly Happening[] }

export async function ensureBalancer(host: LocalHost, wish: Balancing): Promise<BalancerSeen> {
  const { place, network } = wish
  const program = await findProgram('haproxy')
  if (program === undefined) return { waiting_for: refusal, happenings: [] }
  const { text, hash } = balancerSettingsOf({
    ...wish,
    sockets: place.service_sockets,
    prefix: networkPrefix(host, network),
  })
  await ensureFile(host.effect, 'balancer settings', settingsPathOf(place), text, place.owner)
  await host.effect('balancer: limits')
  await host.limits.ensure(balancerGroupOf(place), wish.size)
  const anywhere = await findBalancer(place)
  // One in another network cannot hand over its sockets: it is as good as gone.
  const found = anywhere && (await isInNetwork(host, network, anywhere.pid)) ? anywhere : undefined
  const died = anywhere === undefined && (await hasBalancer(place))
  const running = found?.hash === hash ? found : await startBalancer(host, wish, program, hash, found)
  if (typeof running === 'string') return { waiting_for: running, happenings: [] }
  host.watch.track(watchedAs(place), running.pid)
  const message = 'the balancer had ended by itself and was started again'
  return { happenings: died ? [{ kind: 'restarted', message }] : [] }
}

/** Whether one was started and not ended by us; it may be dead. */
export async function hasBalancer(place: Place): Promise<boolean> {
  return findEntry(place.service_sockets, control_socket) !== undefined
}

export async function ensureBalancerGone(host: LocalHost, place: Place): Promise<void> {
  host.watch.forget(watchedAs(place))
  if ((await statIfThere(settingsPathOf(place))) === undefined) return
  await endBalancers(host, place)
  await host.effect('balancer: limits removed')
  await ensureGroupGone(host, balancerGroupOf(place))
  await ensureEntryRemoved(host.effect, 'balancer', place.service_sockets, control_socket)
  for (const path of [outputPathOf(place), settingsPathOf(place)]) await ensureRemoved(host.effect, 'balancer', path)
}

type Found = { pid: number; hash: string | undefined }

async function findBalancer(place: Place): Promise<Found | undefined> {
  const info = await askBalancer(place.service_sockets, 'show info')
  if (info === undefined) return undefined
  return { pid: Number(fieldOf(info, 'Pid')), hash: fieldOf(info, 'description') }
}

async function startBalancer(
  host: LocalHost,
  wish: Balancing,
  program: string,
  hash: string,
  old: Found | undefined,
): Promise<Found | string> {
  const { place, listen } = wish
  if (old === undefined) {
    // Of one that hangs, too.
    await endBalancers(host, place)
    if (!wish.network && !(await portIsFree(listen.host, listen.port))) {
      return `port ${listen.port} on ${listen.host} is in use by another program; it starts when the port is free`
    }
  }
  const takeover = old === undefined ? [] : ['-x', controlSocketOf(place.service_sockets), '-sf', String(old.pid)]
  await host.effect('balancer: spawn')
  const child = await spawnBalancer(host, wish, [program, '-db', '-q', '-f', settingsPathOf(place), ...takeover])
  let broken: Error | undefined
  child.on('error', (error) => {
    broken = error
  })
  child.unref()
  for (const deadline = performance.now() + start_wait_ms; performance.now() < deadline; await pause(look_every_ms)) {
    const found = await findBalancer(place)
    if (found?.hash === hash) return found
    if (broken !== undefined || child.exitCode !== null || child.signalCode !== null) break
  }
  return `the balancer did not start: ${broken?.message ?? (await lastWordsOf(place))}`
}

async function spawnBalancer(host: LocalHost, wish: Balancing, command: readonly string[]): Promise<ChildProcess> {
  const { place, network } = wish
  const prefix = networkPrefix(host, network)
  const wrapped = entering(prefix, host.limits.wrap(balancerGroupOf(place), command, place.owner))
  await rm(outputPathOf(place), { force: true })
  return await spawnDaemon(wrapped, { path: outputPathOf(place), flags: 'wx' })
}

/** All of them: one that was replaced lives on until its last customer has gone. */
async function endBalancers(host: LocalHost, place: Place): Promise<void> {
  const whose = `the balancer of ${place.service_id}`
  const end = { what: 'balancer: kill', whose, wait_ms: kill_wait_ms }
  await endProcesses(host.effect, (pid) => isOurs(place, pid), end)
}

async function isOurs(place: Place, pid: number): Promise<boolean> {
  const argv = await commandOf(pid)
  if (argv[argv.indexOf('-f') + 1] !== settingsPathOf(place)) return false
  return place.owner === undefined || (await statIfThere(`/proc/${pid}`))?.uid === place.owner.uid
}

async function lastWordsOf(place: Place): Promise<string> {
  const lines = ((await readIfThere(outputPathOf(place))) ?? '').split('\n').filter((line) => line.trim() !== '')
  const line = lines.findLast((said) => said.includes('[ALERT]')) ?? lines.at(-1) ?? 'it gave no reason'
  return line.replace(/^\[\w+\]\s+(\(\d+\) : )?/, '').slice(0, sentence_chars_max)
}

const settingsPathOf = (place: Place) => join(place.home, 'balancer.cfg')
const outputPathOf = (place: Place) => join(place.home, 'balancer.log')
const balancerGroupOf = (place: Place) => `${place.service_id}-balancer`
const watchedAs = (place: Place) => `${place.service_id}/balancer`
