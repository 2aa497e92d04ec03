// Ports for what tests start, disjoint among all test processes of this machine, whoever runs them.
// 1. Each process claims one range of its own, by listening at the range's first port: the kernel lets one process have it, and
//    takes it back when that process ends, however it ends.
// 2. Within the range blocks are given out in turn. A process runs its files one after another, so the first block is long free when
//    its turn comes again.
import { readFileSync } from 'node:fs'
import { createServer } from 'node:net'

export type Ports = { first: number; last: number }

const ports_per_block = 40
const blocks_per_range = 15
/** With the one that is listened at. */
const ports_per_range = 1 + ports_per_block * blocks_per_range
const first_port = 20_000

let range_first: number | undefined
let blocks_given = 0

/** A block that no other test of this machine uses, below those that the kernel hands out. */
export function newServicePorts(): Ports {
  range_first ??= claimRange()
  const first = range_first + 1 + (blocks_given++ % blocks_per_range) * ports_per_block
  return { first, last: first + ports_per_block - 1 }
}

function claimRange(): number {
  const ephemeral = Number(readFileSync('/proc/sys/net/ipv4/ip_local_port_range', 'utf8').split(/\s+/)[0])
  const end = ephemeral >= first_port + 10 * ports_per_range ? ephemeral : 60_000
  for (let first = first_port; first + ports_per_range <= end; first += ports_per_range) {
    if (isClaimed(first)) return first
  }
  throw new Error('other tests of this machine have all ranges of ports; wait until some have ended')
}

/** Without a host the call itself listens, or does not; the error comes later, and says nothing more. */
function isClaimed(port: number): boolean {
  const guard = createServer().on('error', () => undefined)
  guard.listen({ port, exclusive: true })
  guard.unref()
  return guard.listening
}
