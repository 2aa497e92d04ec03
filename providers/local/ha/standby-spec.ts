// The spec of a replica that can take over. Pure. It is the same whichever node is the primary, so that a replica that is promoted
// while it runs has the settings that it should have.
import type { Endpoint, WantedService } from '../../provider.ts'
import { nodeHostOf, nodeAt, type Node } from '../host/layout.ts'
import type { PostgresInstallation } from '../postgres/installation.ts'
import type { StandbySpec } from './standby.ts'
import { nodeName } from './synchronous.ts'

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
