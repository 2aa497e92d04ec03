// What a repository could bring back, without bringing it back: from its own lists, or by reading all of it.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { BackupTarget } from '../backup-target.ts'
import type { Config } from '../config.ts'
import { backupFilesOf } from './backup-files.ts'
import { readPacks } from './check.ts'
import { refuseMissingFolder } from './repository.ts'
import { planOf } from './restore-plan.ts'
import { listRuns, newRestic, readRun, type Restic, type Run } from './restic.ts'

type Source = {
  config: Pick<Config, 'data_dir' | 'aws_access_key_id' | 'aws_secret_access_key'>
  from: BackupTarget
  /** Absent: the key of the data directory. */
  recovery_key: string | undefined
}

export type Restorable = { service_id: string; name: string; restorable_from: string; restorable_until: string }

const segment_name = /^[0-9A-F]{24}$/

export async function listRestorable(source: Source): Promise<Restorable[]> {
  return await withRepository(source, async (restic, runs) => {
    const { meta, snapshots } = planOf(runs, {})
    const text = await dump(restic, meta, 'backup/meta/services.jsonl')
    const rows = text.split('\n').filter(Boolean)
    return rows.map((row) => {
      const { service_id, name } = JSON.parse(row) as { service_id: string; name: string } // as our own table has it
      return { service_id, name, ...windowOf(runs, snapshots[service_id]?.at(-1)?.taken_at) }
    })
  })
}

/** oldest: when the oldest snapshot of a service was taken; absent: there is none. Pure. */
export function windowOf(runs: readonly Run[], oldest: string | undefined) {
  if (oldest === undefined) return { restorable_from: '', restorable_until: '' }
  // Before the first metadata no moment can be named.
  const first = runs.find(({ tags }) => tags.includes('meta'))?.time.toISOString() ?? ''
  const until = runs.findLast(({ tags }) => tags.includes('wal'))?.time.toISOString() ?? ''
  const from = oldest > first ? oldest : first
  // Where nothing was written since the first metadata, there is no newer WAL either.
  return { restorable_from: from, restorable_until: until > from ? until : from }
}

/** problems: a sentence for each service whose WAL has a gap after its newest snapshot. Damaged packs are thrown, with their names. */
export async function verifyRepository(source: Source): Promise<{ runs: number; problems: string[] }> {
  return await withRepository(source, async (restic, runs) => {
    await readPacks(restic)
    const { snapshots, wal } = planOf(runs, {})
    const files = wal === undefined ? [] : [...(await readRun(restic, wal)).files]
    const problems: string[] = []
    for (const [service_id, [newest]] of Object.entries(snapshots)) {
      if (newest === undefined) continue
      const { run, snapshot_id } = newest
      const facts = await dump(restic, run, `local/services/${service_id}/snapshots/${snapshot_id}/snapshot.json`)
      const { start_wal_file } = JSON.parse(facts) as { start_wal_file: string } // the provider's own facts
      const own = files.filter(([path]) => path.startsWith(`local/services/${service_id}/backup/`))
      const missing = gapIn(start_wal_file, own)
      // A service that was deleted has no WAL in the newest run.
      if (own.length > 0 && missing) problems.push(`service ${service_id}: its WAL has a gap ${missing}`)
    }
    return { runs: runs.length, problems }
  })
}

/** Where WAL is missing between the first file and the last. Segments of one size follow one another. Pure. */
export function gapIn(start_wal_file: string, files: readonly [path: string, bytes: number][]): string | undefined {
  const bytes = largestOf(files.filter(([path]) => path.includes('/archive/')).map(([, size]) => size)) || 8_388_608
  const numberOf = (name: string) =>
    Number.parseInt(name.slice(8, 16), 16) * (0x1_0000_0000 / bytes) + Number.parseInt(name.slice(16, 24), 16)
  const names = files.map(([path]) => path.split('/').at(-1) ?? '').filter((name) => segment_name.test(name))
  const numbers = names.map(numberOf)
  const there = new Set(numbers)
  const [start, last] = [numberOf(start_wal_file), largestOf(numbers)]
  for (let number = start; number <= last; number++) {
    if (!there.has(number)) return `${number - start} files after ${start_wal_file}`
  }
  return undefined
}

/** Of any count: Math.max takes some 100,000 at once. */
const largestOf = (numbers: readonly number[]) => numbers.reduce((one, other) => Math.max(one, other), 0)

async function dump(restic: Restic, run: string, path: string): Promise<string> {
  return await restic(['dump', '--no-lock', run, `/${path}`], { timeout_seconds: 600 })
}

async function withRepository<T>(
  { config, from, recovery_key }: Source,
  work: (restic: Restic, runs: Run[]) => Promise<T>,
) {
  await refuseMissingFolder(from)
  const { aws_access_key_id, aws_secret_access_key } = config
  const secrets = { aws_access_key_id, aws_secret_access_key }
  const { daily_key: file, daily_key_id: id_file } = backupFilesOf(config.data_dir)
  const key = recovery_key === undefined ? { file, id_file } : { text: recovery_key }
  const cache = await mkdtemp(join(tmpdir(), 'howdah-restic-'))
  try {
    const restic = newRestic({ target: from, secrets, cache, key })
    const asRoot: Restic = (args, options) => restic(args, { ...options, as_root: true })
    return await work(asRoot, await listRuns(asRoot))
  } finally {
    await rm(cache, { recursive: true, force: true })
  }
}
