// The networks that an installation of a test has made on this host, and their removal without its server: found by the
// installation's own id, so those of other installations are never touched.
import { execFileSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { metricOf, vpcOf } from '#providers/local/network/name.ts'

const namespaces_directory = '/run/netns'
/** As many as a test may make: a route on the host outlives its namespace when a server dies in between. */
const vpc_ids_max = 500
const first_vpc_id = 1000

export function listNamespaces(installation_id: string): string[] {
  try {
    return readdirSync(namespaces_directory).filter((name) => vpcOf({ installation_id }, name) !== undefined)
  } catch {
    return [] // none was ever made here
  }
}

export function removeNetworks(installation_id: string): void {
  for (const namespace of listNamespaces(installation_id)) ip('netns', 'delete', namespace)
  for (const { cidr, metric } of listBarriers(installation_id)) {
    ip('route', 'delete', 'unreachable', cidr, 'metric', String(metric))
  }
}

export function listBarriers(installation_id: string): { cidr: string; metric: number }[] {
  if (!hasUnreachable()) return []
  const ids = Array.from({ length: vpc_ids_max }, (_, index) => String(first_vpc_id + index))
  const metrics = new Set(ids.map((vpc_id) => metricOf({ installation_id }, vpc_id)))
  const lines = ip('route', 'show', 'type', 'unreachable').split('\n')
  return lines
    .map((line) => ({ cidr: line.split(' ')[1] ?? '', metric: Number(/ metric (\d+)/.exec(line)?.[1]) }))
    .filter(({ metric }) => metrics.has(metric))
}

/** The kernel's RTF_REJECT. */
const reject = 0x200

/** The kernel's own table: most tests make no network, and need not run a program to see that none is left. */
function hasUnreachable(): boolean {
  const routes = readFileSync('/proc/net/route', 'latin1').split('\n').slice(1)
  return routes.some((line) => (Number.parseInt(line.split('\t')[3] ?? '0', 16) & reject) !== 0)
}

/** A host without the program has no networks of ours. */
function ip(...words: string[]): string {
  try {
    return execFileSync('ip', words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  } catch {
    return ''
  }
}
