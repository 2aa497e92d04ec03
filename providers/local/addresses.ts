// Candidate ports of this region: those of the configured range, beginning at a port that follows from the owner's id, so that
// owners seldom want the same port. A port that another program of the host has now is skipped.
import { createHash } from 'node:crypto'
import { errorCode } from '../host/read.ts'
import { type AddressUse, type Endpoint, NoAddress } from '../provider.ts'
import { addressesIn } from '../vpc-address.ts'
import { portIsFree } from './postgres/port.ts'

type Range = { host: string; ports: { first: number; last: number } }

export async function* addressesFor({ host, ports }: Range, { id, role, cidr }: AddressUse): AsyncGenerator<Endpoint> {
  if (cidr !== undefined) return yield* addressesIn(cidr)
  const count = ports.last - ports.first + 1
  const start = createHash('sha256').update(`${id}/${role}`).digest().readUInt32LE() % count
  for (let step = 0; step < count; step += 1) {
    const port = ports.first + ((start + step) % count)
    if (await canListen(host, port)) yield { host, port }
  }
  throw new NoAddress(
    `no port is free on ${host} from ${ports.first} to ${ports.last}: each belongs to a service or to another program; ` +
      'delete services, or start the server with a wider range (--service-ports)',
  )
}

async function canListen(host: string, port: number): Promise<boolean> {
  try {
    return await portIsFree(host, port)
  } catch (error) {
    throw new NoAddress(
      `databases cannot listen on ${host} (${errorCode(error)}); start the server with an address that this host has (--service-host)`,
    )
  }
}
