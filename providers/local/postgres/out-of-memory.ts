// Which process of a database the kernel kills when its memory runs out. The postmaster, which has touched more shared memory than a
// session that has just begun, must not be the first: with it all of the database ends, and a session is what grew.
// The processes that it forks make themselves likelier victims, which takes no privilege. A postmaster that root made an unlikelier one
// would leave to its tenant, who may run programs in its user, the right to make each of them as unlikely, at the cost of other tenants.
import { readFileSync } from 'node:fs'

const adjust_file = '/proc/self/oom_score_adj'
/** In thousandths of the memory that there is for the database, or of the host's. The postmaster's own share is some 40. */
const likelier = 100
const most = 1_000

/** PostgreSQL reads these in every process that it forks. */
export function outOfMemoryEnv(): Record<string, string> {
  const own = Number(readFileSync(adjust_file, 'latin1'))
  return { PG_OOM_ADJUST_FILE: adjust_file, PG_OOM_ADJUST_VALUE: String(Math.min(own + likelier, most)) }
}
