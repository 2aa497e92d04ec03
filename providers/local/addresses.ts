// Candidate addresses of this region. A port that another program of the host has now is skipped.
import { candidatesFor, type PortRange } from '../address.ts'
import { errorCode } from '../host/read.ts'
import { type AddressUse, type Endpoint, NoAddress } from '../provider.ts'
import { portIsFree } from './postgres/port.ts'

export async function* addressesFor(range: PortRange, use: AddressUse): AsyncGenerator<Endpoint> {
  for (const endpoint of candidatesFor(range, use)) {
    if (use.cidr !== undefined || (await canListen(endpoint))) yield endpoint
  }
}

async function canListen({ host, port }: Endpoint): Promise<boolean> {
  try {
    return await portIsFree(host, port)
  } catch (error) {
    throw new NoAddress(
      `databases cannot listen on ${host} (${errorCode(error)}); start the server with an address that this host has (--service-host)`,
    )
  }
}
