// What the tags and the files of a run say. Pure.
import type { Archived } from './retention.ts'

/** The moment of a snapshot, in milliseconds; 0: the run has none. */
export const takenOf = (tags: readonly string[]): number =>
  Number(tags.find((tag) => tag.startsWith('taken-'))?.slice('taken-'.length) ?? 0)

/** Of a run of WAL that has not all of the service's WAL up to its moment. */
export const behindTag = (service_id: string) => `behind-${service_id}`

/** Of each service of a run of WAL: its first archived file and its last. */
export function archivedOf(files: ReadonlyMap<string, number>): Archived {
  const found: Record<string, { first: string; last: string }> = {}
  for (const path of files.keys()) {
    const [, service_id, name] = /\/services\/(\w+)\/backup\/archive\/([0-9A-F]{24})$/.exec(path) ?? []
    if (service_id === undefined || name === undefined) continue
    const { first, last } = found[service_id] ?? { first: name, last: name }
    found[service_id] = {
      first: name.slice(8) < first.slice(8) ? name : first,
      last: name.slice(8) > last.slice(8) ? name : last,
    }
  }
  return found
}
