// The WAL of one service from its snapshot on. The run that was chosen has what the archive had then; what the service had pruned by then
// is in earlier runs.
import { readdirSync } from 'node:fs'
import { mkdir, rename, rm } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncFileSystem } from '#providers/host/sync.ts'
import type { Lists, Restic, Run } from './restic.ts'

type Needed = {
  restic: Restic
  lists: Lists
  runs: readonly Run[]
  /** Of the run of WAL that was chosen. */
  last: string
  /** All of that run lies there already. */
  has_last: boolean
  /** Each file, when it has its name. */
  durable: boolean
  service_id: string
  start_wal_file: string
  /** When the snapshot was taken: WAL from there on is in later runs, and in the one before. */
  taken_at: Date
  /** Where files are put, by their paths in the run. */
  target: string
}

const timeout_seconds = 24 * 3600
const segment_name = /^[0-9A-F]{24}$/
/** As words of one command. */
const files_at_once_max = 1_000

/** Where the files of a service are in a run of WAL. */
export const walFolderOf = (service_id: string) => `local/services/${service_id}/backup`

export async function ensureWalFrom(needed: Needed): Promise<void> {
  const { restic, lists, runs, last, has_last, durable, service_id, start_wal_file, taken_at, target } = needed
  const below = walFolderOf(service_id)
  const start = start_wal_file.slice(8)
  await mkdir(join(target, below, 'archive'), { recursive: true, mode: 0o700 })
  const of_wal = runs.filter(({ tags }) => tags.includes('wal'))
  const chosen = of_wal.slice(0, of_wal.findIndex(({ id }) => id === last) + 1).toReversed()
  for (const [at, run] of chosen.entries()) {
    const first = firstIn(join(target, below))
    if (first !== undefined && first <= start) return
    if (at === 0 && has_last) continue
    const { files } = await lists.read(run.id)
    const isWanted = (path: string) => {
      const name = path.slice(path.lastIndexOf('/') + 1)
      if (at === 0 && !segment_name.test(name)) return true
      const is_between = name.slice(8) >= start && (first === undefined || name.slice(8) < first)
      return is_between && (at === 0 || path.startsWith(`${below}/archive/`))
    }
    const missing = [...files.keys()].filter((path) => path.startsWith(`${below}/`)).filter(isWanted)
    await restoreFiles(restic, run.id, missing, { target, aside: join(target, `${service_id}.new`), durable })
    if (run.time < taken_at) return
  }
}

type Places = { target: string; aside: string; durable: boolean }

/**
 * Each file is whole when it has its name. The last segments come first, and all other files before them: whatever is missing
 * after a kill is before the first segment that is there.
 */
async function restoreFiles(restic: Restic, run: string, paths: readonly string[], { target, aside, durable }: Places) {
  const nameOf = (path: string) => path.slice(path.lastIndexOf('/') + 1)
  const rankOf = (path: string) => (segment_name.test(nameOf(path)) ? nameOf(path).slice(8) : 'others')
  const sorted = paths.toSorted((one, other) => (rankOf(one) > rankOf(other) ? -1 : 1))
  for (let at = 0; at < sorted.length; at += files_at_once_max) {
    const chosen = sorted.slice(at, at + files_at_once_max)
    await rm(aside, { recursive: true, force: true })
    const words = [
      'restore',
      run,
      '--no-lock',
      '--target',
      aside,
      ...chosen.flatMap((path) => ['--include', `/${path}`]),
    ]
    await restic(words, { timeout_seconds, as_root: true })
    if (durable) await syncFileSystem(aside)
    for (const path of chosen) {
      await mkdir(dirname(join(target, path)), { recursive: true, mode: 0o700 })
      await rename(join(aside, path), join(target, path))
    }
    await rm(aside, { recursive: true })
  }
}

/** The position of the first WAL file that is there. */
function firstIn(folder: string): string | undefined {
  const names = ['archive', 'partial'].flatMap((name) => namesIn(join(folder, name)))
  return names
    .filter((name) => segment_name.test(name))
    .map((name) => name.slice(8))
    .toSorted()[0]
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}
