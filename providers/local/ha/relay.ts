// The connection to a primary that was promoted where it ran: a relay (HAProxy) at the service's endpoint for clients, and in the
// service's socket folder a link for its own pooler and replicas. Either the primary itself listens at the endpoint, or a relay that
// forwards only to a node that was observed out of recovery in this term:
// 1. It knows that node alone, and starts closed: it is opened only when the node takes writes.
// 2. It is stopped before another node is named the primary, and before its node is started again.
import { closeSync, readlinkSync } from 'node:fs'
import { symlink } from 'node:fs/promises'
import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { basename, join } from 'node:path'
import type { Endpoint, ObservedEvent, WantedService } from '../../provider.ts'
import { ensureFolder, type Effect } from '../host/effect.ts'
import { ensureHaproxy, ensureHaproxyStopped, ensureHaproxyRemoved, findHaproxy } from '../haproxy/process.ts'
import { ensureUses } from '../haproxy/nodes.ts'
import {
  asked_nodes,
  connection_defaults,
  haproxySettingsOf,
  section,
  type HaproxySettings,
} from '../haproxy/settings.ts'
import type { Node } from '../host/layout.ts'
import type { HaHost } from './ha-host.ts'
import { pathOf } from '../host/handle.ts'
import { openFolder, removeEntry, renameEntry } from '../host/tenant-files.ts'
import { networkPrefix } from '../network/service-network.ts'
import { findPrimary } from '../postgres/primary.ts'
import { ownAddressOf } from './standby-spec.ts'
import { connectionsOf } from '../../postgres/size.ts'

export type RelaySpec = {
  /** The folder of its control socket. */
  sockets: string
  listen: readonly Endpoint[]
  target: { node: number; address: Endpoint }
  connections_max: number
  /** What it must have been started with: the term, and the network. */
  words: readonly string[]
}

export type ObservedRelay = { waiting_for?: string; events: readonly ObservedEvent[] }

/** Starts the relay, which may be closed: it starts while the node is being promoted. */
export async function ensureRelay(host: HaHost, node: Node, wanted: WantedService): Promise<ObservedRelay> {
  const { reach, vpc_id, size } = wanted
  const address = ownAddressOf(wanted, node.number)
  if (address === undefined) return { waiting_for: 'its primary has no address of its own', events: [] }
  const listen = await addressesOf(reach)
  if (typeof listen === 'string') return { waiting_for: listen, events: [] }
  const { term } = await findPrimary(node)
  const settings = relaySettingsOf({
    sockets: node.service_sockets,
    listen,
    target: { node: node.number, address },
    connections_max: connectionsOf(size),
    words: [String(term), ...networkPrefix(host, vpc_id)],
  })
  const spec = { node, name: 'relay', settings, listen, size, vpc_id, gracefully: false } as const
  const observed = await ensureHaproxy(host, spec)
  if (typeof observed === 'string') return { waiting_for: observed, events: [] }
  host.watch.track(watchedAs(node), observed.pid, { urgent: true })
  const message = 'the relay to the primary died and was started again'
  return { events: observed.died ? [{ kind: 'restarted', message }] : [] }
}

/** Called when the node takes writes. Afterwards the endpoint and the socket lead to it. */
export async function ensureRelayOpen({ effect }: Pick<HaHost, 'effect'>, node: Node): Promise<void> {
  await ensureServiceSocket(effect, node)
  await ensureUses(effect, node.service_sockets, new Map([[node.number, 'in']]), 'relay')
}

/** Whether a relay and the socket lead to the primary, checked without asking any process; a running relay is watched from now on. */
export async function isRelayUp({ watch }: Pick<HaHost, 'watch'>, node: Node): Promise<boolean> {
  const relay = await findHaproxy(node, 'relay')
  if (relay) watch.track(watchedAs(node), relay.pid, { urgent: true })
  return relay !== undefined
}

/** Clients are refused from here on. Its files stay for the next relay. */
export async function ensureRelayStopped(host: HaHost, node: Node): Promise<void> {
  host.watch.forget(watchedAs(node))
  await ensureHaproxyStopped(host, node, 'relay')
}

/** The same, and its files are removed. */
export async function ensureRelayRemoved(host: HaHost, node: Node): Promise<void> {
  host.watch.forget(watchedAs(node))
  await ensureHaproxyRemoved(host, node, 'relay')
}

function relaySettingsOf({ sockets, listen, target, connections_max, words }: RelaySpec): HaproxySettings {
  const body = [
    section('defaults', defaults),
    section(`listen ${asked_nodes}`, [
      ...listen.map(({ host, port }) => `bind ${host}:${port}`),
      `server node_${target.node} ${target.address.host}:${target.address.port} disabled`,
    ]),
  ].join('')
  return haproxySettingsOf({ name: 'relay', sockets, connections_max, body, words })
}

const defaults = [
  ...connection_defaults,
  // A primary that refuses a connection has died. HAProxy would try it again three times, a second apart: so long would clients wait, and a
  // pass that logs in, before the next pass replaces the primary. A busy primary is waited for.
  'retries 0',
  'timeout connect 8s',
] as const

/** A client that uses the service's folder finds the node's socket; PostgreSQL replaces the link when it listens there itself. */
async function ensureServiceSocket(effect: Effect, node: Node): Promise<void> {
  const { service_sockets, sockets, port } = node
  await ensureFolder(effect, 'socket folder', service_sockets, 0o700, node.owner)
  const name = `.s.PGSQL.${port}`
  const target = join('..', basename(sockets), name)
  const folder = openFolder(service_sockets)
  try {
    if (linkAt(`${pathOf(folder)}/${name}`) === target) return
    await effect('service socket: link aside')
    await removeEntry(service_sockets, `${name}.new`)
    await symlink(target, `${pathOf(folder)}/${name}.new`)
    await effect('service socket: rename into place')
    await renameEntry(service_sockets, '', `${name}.new`, name)
  } finally {
    closeSync(folder)
  }
}

function linkAt(path: string): string | undefined {
  try {
    return readlinkSync(path)
  } catch {
    return undefined
  }
}

/** All addresses of a name, as PostgreSQL listens at them. A sentence when the name has none. */
async function addressesOf({ host, port }: Endpoint): Promise<Endpoint[] | string> {
  if (isIP(host) !== 0) return [{ host, port }]
  const found = await lookup(host, { all: true }).catch(() => [])
  const addresses = [...new Set(found.map(({ address }) => address))].toSorted()
  return addresses.length === 0 ? `${host} has no address` : addresses.map((address) => ({ host: address, port }))
}

const watchedAs = (node: Node) => `${node.service_id}/relay`
