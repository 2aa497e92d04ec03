// The ranges of VPCs as the operator set them: which VPCs of a former version or another setting lie outside.
import { contains, parseCidr } from '#contract/cidr.ts'
import { isHostRoot } from '#providers/local/host/privilege.ts'
import type { Config } from '../config.ts'
import type { Sql } from '../store/db.ts'
import { listVpcsOfRegion, type VpcRow } from './store.ts'

/** A sentence for the operator; undefined when all VPCs lie inside. */
export async function outsideWarning(
  sql: Sql,
  { region, vpc_ranges }: Pick<Config, 'region' | 'vpc_ranges'>,
): Promise<string | undefined> {
  // For an ordinary user no VPC ever has a route on the host.
  return isHostRoot() ? outsideSentence(await listVpcsOfRegion(sql, region), vpc_ranges) : undefined
}

/** Pure. */
export function outsideSentence(vpcs: readonly Pick<VpcRow, 'id' | 'cidr'>[], ranges: readonly string[]) {
  const blocks = ranges.map((range) => parseCidr(range))
  const outside = vpcs.filter(({ cidr }) => !blocks.some((block) => contains(block, parseCidr(cidr))))
  if (outside.length === 0) return undefined
  const named = outside.map(({ id, cidr }) => `${id} (${cidr})`).join(', ')
  const wider = [...new Set([...ranges, ...outside.map(({ cidr }) => cidr)])].join(',')
  return `outside the ranges for VPCs (${ranges.join(', ')}) lie ${named}: their networks are kept, but this host adds no route for them; if neither the host nor its clients need these addresses, start with --vpc-ranges ${wider}`
}
