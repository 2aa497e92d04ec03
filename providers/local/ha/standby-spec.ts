// What a standby is to be. Pure. The spec of a replica that can take over is the same whichever node is the primary, so that a replica
// that is promoted while it runs has the settings that it should have.
import type { Endpoint, Size, WantedService } from '../../provider.ts'
import { listeningAt, nodeHostOf, nodeAt, type Node } from '../host/layout.ts'
import type { PostgresInstallation } from '../postgres/installation.ts'
import { nodeName } from './synchronous.ts'

export type StandbySpec = {
  /** The node's own, in the role of a standby. */
  node: Node
  /** The primary's: its data, sockets and archive. */
  primary: Node
  /** By which the primary knows it. */
  name: string
  /** By which the primary keeps WAL for it; absent: it catches up from the archive. */
  slot?: string
  size: Size
  /** Of its service. */
  extensions: readonly string[]
  /** Where it listens; absent: on its unix socket only. */
  listen?: Endpoint
  /** In which it listens; absent: in the host's. */
  vpc_id?: string | undefined
  installation: PostgresInstallation
  /** Asked before a running server is stopped or given up; false: not now, because commits depend on it. */
  mayLeave?: () => Promise<boolean>
}

/** A replica listens at the same port as its primary, where that leaves an address. */
const all_addresses = ['0.0.0.0', '::', '*']

export function standbySpecOf(
  primary: Node,
  number: number,
  wanted: WantedService,
  installation: PostgresInstallation,
): StandbySpec {
  const { size, extensions, vpc_id } = wanted
  const name = nodeName(number)
  const listen = ownAddressOf(wanted, number)
  const node = nodeAt(primary, number, 'standby')
  return { node, primary, name, slot: name, size, extensions, installation, vpc_id, ...(listen && { listen }) }
}

/** The address at which a relay reaches the node after its promotion; undefined where there can be none. */
export function ownAddressOf(wanted: WantedService, number: number): Endpoint | undefined {
  const { home, reach } = wanted
  if (all_addresses.includes(reach.host)) return undefined
  return { host: nodeHostOf(home.port, number), port: reach.port }
}

export const mayLeave = async (spec: StandbySpec) => (await spec.mayLeave?.()) ?? true

export const listenedAt = ({ node, listen }: StandbySpec) => (listen ? listeningAt(node, listen.port) : node)
