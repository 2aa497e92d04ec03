// The addresses that things in a VPC may have, best first: the same in every region. Pure.
import { type Endpoint, NoAddress } from './provider.ts'

/** Everything in a VPC listens there. */
const vpc_port = 5432
/** The network itself, and the VPC's own address. */
const first_index = 2

/** From the lowest on. The last one of a range is its broadcast address. */
export function* addressesIn(cidr: string): Generator<Endpoint> {
  const [network = '', bits] = cidr.split('/')
  const first = network.split('.').reduce((number, part) => number * 256 + Number(part), 0)
  const size = 2 ** (32 - Number(bits))
  for (let index = first_index; index < size - 1; index += 1) {
    const address = first + index
    yield { host: [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.'), port: vpc_port }
  }
  throw new NoAddress(`the VPC (${cidr}) has no free address; detach something, or use a larger one`)
}
