// Where the control groups of an installation can be, for tests that search leftovers.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { groupsAround, parseCgroupMounts } from '#providers/local/host/limits.ts'

export function possibleParents(installation_id: string): string[] {
  const { v1, v2 } = parseCgroupMounts(readFileSync('/proc/self/mountinfo', 'utf8'))
  const around = v2 === undefined ? [] : groupsAround(v2, readFileSync('/proc/self/cgroup', 'utf8'))
  return [...new Set([...v1.values(), ...around])].map((place) => join(place, `howdah-${installation_id}`))
}
