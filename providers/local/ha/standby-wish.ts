// What a replica that can take over should be. Pure. It is the same whichever node is the primary, so that one that takes over as it
// runs has the settings that it should have.
import type { Endpoint, WantedService } from '../../provider.ts'
import { nodeHostOf, nodeOf, type Place } from '../host/layout.ts'
import type { PostgresInstallation } from '../postgres/installation.ts'
import { listenOf } from '../network/service-network.ts'
import type { StandbyWish } from './standby.ts'
import { nodeName } from './synchronous.ts'

/** At the same port as its primary, where that leaves an address. */
const all_addresses = ['0.0.0.0', '::', '*']

export function standbyWishOf(
  primary: Place,
  node: number,
  wanted: WantedService,
  installation: PostgresInstallation,
): StandbyWish {
  const { size, extensions, network } = wanted
  const name = nodeName(node)
  const listen = ownAddressOf(wanted, node)
  const place = nodeOf(primary, node, 'standby')
  return { place, primary, name, slot: name, size, extensions, installation, network, ...(listen && { listen }) }
}

/** Where a relay reaches the node after it has taken over as it ran; undefined where that cannot be. */
export function ownAddressOf(wanted: WantedService, node: number): Endpoint | undefined {
  const { endpoint, network } = wanted
  if (!network && all_addresses.includes(endpoint.host)) return undefined
  return { host: nodeHostOf(endpoint.port, node), port: listenOf(wanted).port }
}
