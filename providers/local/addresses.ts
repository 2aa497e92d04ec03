// Candidate ports of this region: those of the configured range, beginning at a port that follows from the owner's id, so that
// owners seldom want the same port. A port on which a program of the host listens now is skipped.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { type AddressUse, type Endpoint, NoAddress } from '../provider.ts'
import { addressesIn } from '../vpc-address.ts'

type Range = { host: string; ports: { first: number; last: number } }

export function* addressesFor({ host, ports }: Range, { id, role, cidr }: AddressUse): Generator<Endpoint> {
  if (cidr !== undefined) return yield* addressesIn(cidr)
  const busy = listeningPorts()
  const count = ports.last - ports.first + 1
  const start = createHash('sha256').update(`${id}/${role}`).digest().readUInt32LE() % count
  for (let step = 0; step < count; step += 1) {
    const port = ports.first + ((start + step) % count)
    if (!busy.has(port)) yield { host, port }
  }
  throw new NoAddress(
    `no port is free on ${host} from ${ports.first} to ${ports.last}: each belongs to a service or to another program; ` +
      'delete services, or start the server with a wider range (--service-ports)',
  )
}

/** At any address, as the kernel lists them. */
export function listeningPorts(): Set<number> {
  const lines = ['/proc/net/tcp', '/proc/net/tcp6'].flatMap((path) => textOf(path).split('\n'))
  return new Set(lines.flatMap((line) => listeningPortOf(line) ?? []))
}

/** `0A` is the state of a socket that listens. */
function listeningPortOf(line: string): number | undefined {
  const [, local = '', , state] = line.trim().split(/\s+/)
  return state === '0A' ? Number.parseInt(local.split(':')[1] ?? '', 16) : undefined
}

function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch {
    return '' // A kernel without IPv6.
  }
}
