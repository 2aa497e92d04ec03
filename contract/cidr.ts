// The address blocks that a VPC can have: private IPv4 networks, written in one way only. Pure.
// An address is a number here, its first octet the highest.

export type Cidr = { first: number; size: number }

const prefix_min = 16
const prefix_max = 28
const form_problem = 'must be an IPv4 network such as 10.64.0.0/16'
const private_networks = ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', '100.64.0.0/10'] as const

/** No zeros in front: some programs take such a number for an octal one. */
const number_form = '(0|[1-9]\\d{0,2})'
const cidr_form = new RegExp(`^${[1, 2, 3, 4].map(() => number_form).join('\\.')}/(0|[1-9]\\d?)$`)

/** Why this cannot be the block of a VPC; undefined when it can. */
export function cidrProblem(text: string): string | undefined {
  const { cidr, prefix, host_bits } = partsOf(text) ?? {}
  if (cidr === undefined || prefix === undefined || host_bits === undefined) {
    return form_problem
  }
  if (prefix < prefix_min || prefix > prefix_max) return `must have a prefix from /${prefix_min} to /${prefix_max}`
  if (host_bits > 0) return `has host bits that are not zero; the network is ${addressIn(cidr, 0)}/${prefix}`
  return privateProblem(cidr)
}

/** Why no block of a VPC can lie in this range; undefined when some can. */
export function rangeProblem(text: string): string | undefined {
  const { cidr, prefix, host_bits } = partsOf(text) ?? {}
  if (cidr === undefined || prefix === undefined || prefix > prefix_max || host_bits !== 0) return form_problem
  return privateProblem(cidr)
}

function privateProblem(cidr: Cidr): string | undefined {
  if (private_networks.some((network) => contains(parseCidr(network), cidr))) return undefined
  return `must be a private network, in one of ${private_networks.join(', ')}`
}

/** A block that is known to be well written: of a VPC, or of this file. */
export function parseCidr(text: string): Cidr {
  const cidr = partsOf(text)?.cidr
  if (cidr === undefined) throw new Error('this is no IPv4 network')
  return cidr
}

export function overlaps(one: Cidr, other: Cidr): boolean {
  return one.first < other.first + other.size && other.first < one.first + one.size
}

/** The address with this place in the block, from 0 on. */
export function addressIn({ first }: Cidr, index: number): string {
  const address = first + index
  return [24, 16, 8, 0].map((bits) => Math.floor(address / 2 ** bits) % 256).join('.')
}

export function contains(outer: Cidr, inner: Cidr): boolean {
  return inner.first >= outer.first && inner.first + inner.size <= outer.first + outer.size
}

function partsOf(text: string): { cidr: Cidr; prefix: number; host_bits: number } | undefined {
  const numbers = cidr_form.exec(text)?.slice(1).map(Number)
  if (numbers === undefined) return undefined
  const [a = 0, b = 0, c = 0, d = 0, prefix = 0] = numbers
  if (Math.max(a, b, c, d) > 255 || prefix > 32) return undefined
  const address = ((a * 256 + b) * 256 + c) * 256 + d
  const size = 2 ** (32 - prefix)
  const host_bits = address % size
  return { cidr: { first: address - host_bits, size }, prefix, host_bits }
}
