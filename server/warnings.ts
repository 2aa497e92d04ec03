// What the operator should know when the server starts: each a sentence that says what to do. The server serves nevertheless.
import type { Provider } from '#providers/provider.ts'
import type { Log } from './log.ts'
import type { Regions } from './regions.ts'
import type { Db } from './store/db.ts'
import { outsideSentence } from './vpc/ranges.ts'
import { listVpcsOfRegion } from './vpc/store.ts'

export async function listWarnings(db: Db, regions: Regions, log: Log): Promise<readonly string[]> {
  const found = await Promise.all([...regions].map(([code, provider]) => warningsOf(db, code, provider)))
  // Regions of one host have some in common.
  const warnings = [...new Set(found.flat())]
  for (const warning of warnings) log.warn({}, warning)
  return warnings
}

async function warningsOf(db: Db, region_code: string, provider: Pick<Provider, 'facts'>): Promise<string[]> {
  const { warnings = [], vpc_ranges } = provider.facts()
  if (vpc_ranges === undefined) return [...warnings]
  return [...warnings, ...outsideSentence(await listVpcsOfRegion(db, region_code), vpc_ranges)]
}
