// Ranges of IPv4 addresses as numbers. Pure. The range of a wanted VPC was checked by the caller; the host's own
// routes come in every spelling that iproute2 has.
import assert from 'node:assert/strict'

type Range = { first: number; last: number }

/** The VPC's own address in its range: the first. */
export const gatewayOf = (cidr: string): string => addressAt(cidr, 1)

/** With this place in the range, from 0 on. */
export function addressAt(cidr: string, index: number): string {
  const address = rangeOf(cidr).first + index
  return [24, 16, 8, 0].map((shift) => Math.floor(address / 2 ** shift) % 256).join('.')
}

export function prefixOf(cidr: string): number {
  return Number(cidr.split('/')[1] ?? 32)
}

export function overlap(one: string, other: string): boolean {
  const [a, b] = [rangeOf(one), rangeOf(other)]
  return a.first <= b.last && b.first <= a.last
}

/** Whether all addresses of one are also of the other. */
export function within(inner: string, outer: string): boolean {
  const [a, b] = [rangeOf(inner), rangeOf(outer)]
  return a.first >= b.first && a.last <= b.last
}

/** `10.0.0.0/8`, or one address. */
function rangeOf(cidr: string): Range {
  const found = /^(\d{1,3})\.(\d{1,3})\.(\d{1,3})\.(\d{1,3})(?:\/(\d{1,2}))?$/.exec(cidr)
  assert(found, `${cidr} is an IPv4 range`)
  const [a = 0, b = 0, c = 0, d = 0, prefix = 32] = found.slice(1).map((part) => (part ? Number(part) : undefined))
  const size = 2 ** (32 - prefix)
  const address = ((a * 256 + b) * 256 + c) * 256 + d
  const first = address - (address % size)
  return { first, last: first + size - 1 }
}
