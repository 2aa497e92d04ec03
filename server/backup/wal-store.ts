// Copies staged WAL into the repository, all services in one run. What a run lacks is told by its list of files.
import { join, relative } from 'node:path'
import { Grown, unlessGrown } from '#providers/host/growing.ts'
import { type StagedWal, staged_file_bytes_max } from '#providers/provider.ts'
import type { Place, Repository } from './repository.ts'
import { listStored, run_timeout_seconds, storeRun } from './restic.ts'
import type { Archived } from './retention.ts'
import { archivedOf, behindTag } from './runs.ts'

/** A run is not cut short while it can be as slow as this: what it has sent would be sent again. */
const slowest_bytes_per_second = 256 * 1024

/** A run although nothing has changed: it shows that the repository is there. */
const proof_every_ms = 300_000
const never = { text: '', at_ms: -Infinity }

/** Checksums, which lie beside the WAL and change often, stay here. */
const topOf = (path: string) => path.split('/')[0] ?? path

/** The first file of a service that the run lacks; undefined: it has all. */
export type Lacking = (one: StagedWal) => string | undefined

export function newWalStore({ data_dir, installation_id }: Place, archived: Map<string, Archived>) {
  let known: ReadonlyMap<string, number> = new Map()
  let last = never
  const written = new Set<string>()
  const keyOf = ({ folder }: StagedWal, path: string) => relative(data_dir, join(folder, path))
  const copy = async ({ restic, runs }: Repository, staged: readonly StagedWal[]): Promise<Lacking> => {
    const fresh = staged.flatMap((one) => one.files.filter(({ path }) => !known.has(keyOf(one, path))))
    const bytes = fresh.reduce((sum, one) => sum + one.bytes, 0)
    const timeout_seconds = run_timeout_seconds + Math.ceil(bytes / slowest_bytes_per_second)
    // Every commit before the time of the run is in it.
    const time = new Date(Math.min(...staged.map(({ at }) => at.getTime())))
    const parent = runs.findLast(({ tags }) => tags.includes('wal'))?.id
    const paths = [...new Set(staged.flatMap((one) => one.files.map(({ path }) => keyOf(one, topOf(path)))))]
    const behind = staged.filter((one) => one.behind !== undefined)
    const tags = ['wal', ...behind.map(({ service_id }) => behindTag(service_id))]
    const named = { host: installation_id, tags, parent, paths, time }
    const wanted = new Map(
      staged.flatMap((one) => one.files.map((file) => [keyOf(one, file.path), file.bytes] as const)),
    )
    const files = staged.flatMap(({ folder, files }) => files.map(({ path }) => join(folder, path)))
    const run = await unlessGrown(files, staged_file_bytes_max, (signal) =>
      storeRun(restic, named, { timeout_seconds, cwd: data_dir, signal }),
    ).catch((error: unknown) => {
      const grown = staged.find(({ folder }) => error instanceof Grown && error.path.startsWith(`${folder}/`))
      if (grown) written.add(grown.service_id)
      throw error
    })
    const { id, files: stored } = await listStored(restic, run, wanted)
    known = stored
    runs.push({ id, time, tags, hostname: installation_id })
    archived.set(id, archivedOf(stored))
    // A drill may have staged more of it meanwhile.
    return (one) => one.files.find(({ path, bytes: size }) => (stored.get(keyOf(one, path)) ?? -1) < size)?.path
  }
  return {
    /** Where nothing has changed since the last run, there is none, but for a proof now and then. */
    store: async (repository: Repository, staged: readonly StagedWal[]): Promise<Lacking> => {
      const text = JSON.stringify(staged.map(({ folder, files }) => [folder, files]))
      const is_due = text !== last.text || performance.now() - last.at_ms > proof_every_ms
      if (staged.every(({ files }) => files.length === 0) || !is_due) return () => undefined
      const lacking = await copy(repository, staged)
      const is_whole = staged.every((each) => lacking(each) === undefined)
      last = { text: is_whole ? text : '', at_ms: performance.now() }
      return lacking
    },
    /** The services whose users wrote to staged files, which would keep the others from being copied. */
    written: written as ReadonlySet<string>,
    /** After a failure: the next round copies. */
    forget: () => {
      last = never
    },
  }
}
