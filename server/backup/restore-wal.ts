// The WAL of one service from its snapshot on. The run that was chosen has what the archive had then; what the service had pruned by then
// is in earlier runs.
import { readdirSync, readFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { readRun, type Restic, type Run } from './restic.ts'

type Needed = {
  restic: Restic
  runs: readonly Run[]
  /** The run of which the folder has the WAL already. */
  before: string | undefined
  service_id: string
  snapshot_folder: string
  /** The service's folder with `archive` and `partial`. */
  folder: string
}

const timeout_seconds = 24 * 3600
const segment_name = /^[0-9A-F]{24}$/

export async function ensureWalFrom({
  restic,
  runs,
  before,
  service_id,
  snapshot_folder,
  folder,
}: Needed): Promise<void> {
  const text = readFileSync(join(snapshot_folder, 'snapshot.json'), 'utf8')
  const { start_wal_file } = JSON.parse(text) as { start_wal_file: string } // the provider's own facts
  const archive = join(folder, 'archive')
  await mkdir(archive, { recursive: true, mode: 0o700 })
  const positions = () =>
    readdirSync(archive)
      .filter((name) => segment_name.test(name))
      .map((name) => name.slice(8))
  const start = start_wal_file.slice(8)
  const earlier = runs.filter(({ tags }) => tags.includes('wal'))
  const at = earlier.findIndex(({ id }) => id === before)
  for (const run of earlier.slice(0, Math.max(0, at)).toReversed()) {
    const first = positions().toSorted()[0]
    if (first === undefined || first <= start) return
    const { files } = await readRun(restic, run.id)
    const below = `local/services/${service_id}/backup/archive/`
    const older = [...files.keys()].filter((path) => path.startsWith(below))
    const missing = older.filter((path) => {
      const position = path.slice(below.length + 8)
      return position >= start && position < first
    })
    if (missing.length === 0) continue
    const target = folder.slice(0, -`local/services/${service_id}/backup`.length)
    const words = ['restore', run.id, '--no-lock', '--target', target]
    await restic([...words, ...missing.flatMap((path) => ['--include', `/${path}`])], {
      timeout_seconds,
      as_root: true,
    })
  }
}
