// The ranges of VPCs as the operator set them: which VPCs of a former version or another setting lie outside. Pure.
import { contains, parseCidr } from '#contract/cidr.ts'
import type { VpcRow } from './store.ts'

/** A sentence for the operator; none when all VPCs lie inside. */
export function outsideSentence(vpcs: readonly Pick<VpcRow, 'id' | 'cidr'>[], ranges: readonly string[]): string[] {
  const blocks = ranges.map((range) => parseCidr(range))
  const outside = vpcs.filter(({ cidr }) => !blocks.some((block) => contains(block, parseCidr(cidr))))
  if (outside.length === 0) return []
  const named = outside.map(({ id, cidr }) => `${id} (${cidr})`).join(', ')
  const wider = [...new Set([...ranges, ...outside.map(({ cidr }) => cidr)])].join(',')
  return [
    `outside the ranges for VPCs (${ranges.join(', ')}) lie ${named}: their networks are kept, but this host adds no route for them; if neither the host nor its clients need these addresses, start with --vpc-ranges ${wider}`,
  ]
}
