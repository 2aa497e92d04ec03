// A service inside a VPC: how its processes get into the network, and whether they are in it. Every
// process of a service in a VPC is started behind `networkPrefix`. Its unix socket is reached from the host as ever.
import { stat } from 'node:fs/promises'
import type { Endpoint, WantedService } from '../../provider.ts'
import type { Effect } from '../host/effect.ts'
import { changeNetwork } from './ip.ts'
import { probe, type Probe, type ProbeSpec } from '../../postgres/probe.ts'
import { openRelay } from './relay.ts'
import { bridge } from './name.ts'
import { namespaceAt, type NetworkNames } from './namespace.ts'
import { findInode, findNetwork } from './network.ts'

export type NetworkHost = NetworkNames & { effect: Effect; networkRefusal(): Promise<string | undefined> }

/** The names in its certificate: also the address that it has outside the VPC, so that leaving needs no new one. */
export function hostsOf({ home, reach, pooler }: Pick<WantedService, 'home' | 'reach' | 'pooler'>): string[] {
  return [...new Set([home, reach, pooler ?? home].map(({ host }) => host))]
}

/** The prefix of a command that runs in the network; none when there is no network. */
export function networkPrefix(host: NetworkNames, vpc_id: string | undefined): readonly string[] {
  return vpc_id === undefined ? [] : namespaceAt(host, vpc_id).enter
}

/**
 * Adds the address to the VPC. It stays when the service leaves: while no server listens there, callers are refused at
 * once, and the next owner of the address cannot lose it to a late cleanup. A sentence when there is no network.
 */
async function ensureAddress(host: NetworkHost, vpc_id: string, address: string): Promise<string | undefined> {
  const network = await findNetwork(namespaceAt(host, vpc_id))
  const addresses = network?.links.get(bridge)?.addresses
  if (!network || !addresses) return `the network of VPC ${vpc_id} is being made`
  if (addresses.has(`${address}/32`)) return undefined
  await host.effect('VPC address: add')
  await changeNetwork(network.namespace, [`address add ${address}/32 dev ${bridge}`])
  return undefined
}

/** Afterwards the network has this address, so that a process can listen at it. A sentence when not, or not yet. */
export async function ensureInNetwork(
  host: NetworkHost,
  vpc_id: string | undefined,
  { host: address }: Endpoint,
): Promise<string | undefined> {
  if (vpc_id === undefined) return undefined
  return (await host.networkRefusal()) ?? (await ensureAddress(host, vpc_id, address))
}

/** Whether the process is in the network that has this name now; it may be in a removed network of the same name. */
export async function isInNetwork(host: NetworkNames, vpc_id: string | undefined, pid: number): Promise<boolean> {
  // The host has one network; a process that still runs in a VPC has other settings, by which it is noticed.
  if (vpc_id === undefined) return true
  // Root of a container without CAP_SYS_PTRACE may not read the namespaces of other users' processes.
  const own = await stat(`/proc/${pid}/ns/net`).catch(() => undefined)
  return own === undefined || own.ino === (await findInode(namespaceAt(host, vpc_id)))
}

/** As a client connects: in a VPC from inside it. */
export async function probeAt(host: NetworkNames, vpc_id: string | undefined, spec: ProbeSpec): Promise<Probe> {
  return vpc_id === undefined ? await probe(spec) : await probeInside(host, vpc_id, spec)
}

/** The probe from inside: an address of a VPC is never dialled from the host. */
async function probeInside(host: NetworkNames, vpc_id: string, spec: ProbeSpec): Promise<Probe> {
  const relay = openRelay(networkPrefix(host, vpc_id), spec.endpoint)
  const observed = await probe(spec, () => relay.connection)
  const said = await relay.close()
  return observed.result === 'failed' && said !== '' ? { ...observed, reason: said } : observed
}
