// Where Node keeps compiled code for the programs of tests. It halves what a start costs, and the crash tests start very many.
import { chmodSync, mkdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** `prefix`: words before the program. With them it may run as another user, who can write only into the folder of the run. */
export function compileCacheFor(prefix: readonly string[]): string {
  if (prefix.length === 0) return join(import.meta.dirname, '..', 'node_modules', '.cache', 'howdah')
  const shared = join(tmpdir(), 'compiled')
  mkdirSync(shared, { recursive: true })
  chmodSync(shared, 0o1777)
  return shared
}
