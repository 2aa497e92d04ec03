// Candidate addresses, best first: the same in every region that has ports of a host, or VPCs. Pure.
import { createHash } from 'node:crypto'
import { addressAt, prefixOf } from './cidr.ts'
import { type AddressUse, type Endpoint, NoAddress } from './provider.ts'

/** Where it listens outside of VPCs. `help`: how it is made wider. */
export type PortRange = { host: string; ports: { first: number; last: number }; help?: string }

/** Everything in a VPC listens there. */
const vpc_port = 5432
/** The network itself, and the VPC's own address. */
const first_index = 2

export function candidatesFor(range: PortRange, use: AddressUse): Generator<Endpoint> {
  return use.cidr === undefined ? portsFor(range, use) : addressesIn(use.cidr)
}

/** Those of the range, beginning at a port that follows from the owner's id, so that owners seldom want the same port. */
function* portsFor({ host, ports, help = wider }: PortRange, { id, role }: AddressUse): Generator<Endpoint> {
  const count = ports.last - ports.first + 1
  const start = createHash('sha256').update(`${id}/${role}`).digest().readUInt32LE() % count
  for (let step = 0; step < count; step += 1) yield { host, port: ports.first + ((start + step) % count) }
  throw new NoAddress(
    `no port is free on ${host} from ${ports.first} to ${ports.last}: each belongs to a service or to another program; ` +
      `delete services, or ${help}`,
  )
}

const wider = 'start the server with a wider range (--service-ports)'

/** From the lowest on. The last one of a range is its broadcast address. */
function* addressesIn(cidr: string): Generator<Endpoint> {
  const size = 2 ** (32 - prefixOf(cidr))
  for (let index = first_index; index < size - 1; index += 1) yield { host: addressAt(cidr, index), port: vpc_port }
  throw new NoAddress(`the VPC (${cidr}) has no free address; detach something, or use a larger one`)
}
