// What the operator should know when the server starts: each a sentence that says what to do. None keeps it from serving.
import { sharedUserWarning } from '#providers/local/isolation.ts'
import type { Config } from './config.ts'
import type { Db } from './store/db.ts'
import type { Log } from './log.ts'
import { outsideWarning } from './vpc/ranges.ts'

export async function listWarnings(db: Db, config: Config, log: Log): Promise<readonly string[]> {
  const found = [sharedUserWarning(), await outsideWarning(db, config)]
  const warnings = found.filter((warning) => warning !== undefined)
  for (const warning of warnings) log.warn({}, warning)
  return warnings
}
