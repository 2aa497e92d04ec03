// What a size means in every region. Pure.
import type { Size } from '../provider.ts'

/** A shared service has no memory of its own: it counts as one with 1 GB. */
const shared_memory_gbs = 1

/** What a service may take of the disk with data, WAL and archive; undefined: as much as there is. */
export function diskGbsOf(size: Size, gbs_per_memory_gb: number): number | undefined {
  if (gbs_per_memory_gb === 0) return undefined
  return gbs_per_memory_gb * (size === 'shared' ? shared_memory_gbs : size.memory_gbs)
}
