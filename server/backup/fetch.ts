// One service out of the repository, into a folder: its snapshot, and the WAL after it. What is in the folder is whole when the function
// returns, and not durable; a folder of an attempt that was killed is filled anew.
import { existsSync, readFileSync, statfsSync } from 'node:fs'
import { mkdir, readdir, rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFileSystem } from '#providers/host/sync.ts'
import type { Backup, FetchedService } from '#providers/provider.ts'
import { RepositoryRefused } from './repository.ts'
import { newLists, type Lists, type Restic, type Run } from './restic.ts'
import { snapshotsBefore, type StoredSnapshot, walRunOf } from './restore-plan.ts'
import { ensureWalFrom, walFolderOf } from './restore-wal.ts'

const timeout_seconds = 24 * 3600
/** Below this services would soon refuse writes. */
const kept_bytes = 512 * 1024 ** 2

type Wanted = {
  restic: Restic
  runs: readonly Run[]
  service_id: string
  /** Absent: the newest that there is. */
  at?: Date | undefined
  /** Ours alone. */
  folder: string
  /** Of its region. */
  backup: Pick<Backup, 'leadsOn'>
}

export async function fetchService(wanted: Wanted): Promise<FetchedService> {
  const { restic, runs, service_id, at, folder, backup } = wanted
  const [newest, ...older] = snapshotsBefore(runs, at)[service_id] ?? []
  if (newest === undefined) throw new RepositoryRefused(`no snapshot of ${service_id} is in the repository`)
  await rm(folder, { recursive: true, force: true })
  await mkdir(folder, { recursive: true, mode: 0o700 })
  const lists = newLists(restic)
  const finding = findWalRun(lists, runs, { service_id, taken_at: new Date(newest.taken_at), at })
  const [wal] = await Promise.all([finding, lists.read(newest.run)])
  // The newest one may be of a state that the service left when it was rewound.
  for (const snapshot of [newest, ...older]) {
    const fetched = await fetchFrom({ ...wanted, lists }, snapshot, wal)
    if (await backup.leadsOn(fetched, at?.toISOString())) return fetched
    await rm(dataIn(folder), { recursive: true, force: true })
  }
  throw new RepositoryRefused(`no snapshot of ${service_id} in the repository leads to that moment`)
}

const dataIn = (folder: string) => join(folder, 'data')

async function fetchFrom(
  { restic, lists, runs, service_id, folder }: Wanted & { lists: Lists },
  { run, snapshot_id, taken_at }: StoredSnapshot,
  wal: string | undefined,
): Promise<FetchedService> {
  await requireSpace(lists, run, folder)
  await restoreRun(restic, run, dataIn(folder))
  const snapshot_folder = await findSnapshotFolder(dataIn(folder), snapshot_id)
  if (snapshot_folder === undefined)
    throw new RepositoryRefused(`the snapshot ${snapshot_id} in the backup is not whole`)
  const target = join(folder, 'wal')
  if (wal !== undefined) {
    const start_wal_file = startOf(snapshot_folder)
    const from = { service_id, start_wal_file, taken_at: new Date(taken_at), target }
    await ensureWalFrom({ restic, lists, runs, last: wal, has_last: false, durable: false, ...from })
  }
  return { snapshot_id, snapshot_folder, wal_folder: join(target, walFolderOf(service_id)) }
}

/** For what is fetched and the data that is made of it: the last space of a disk is for the databases that run on it. */
async function requireSpace(lists: Lists, run: string, folder: string): Promise<void> {
  const { files } = await lists.read(run)
  const needed = 2 * [...files.values()].reduce((sum, bytes) => sum + bytes, 0) + kept_bytes
  const { bavail, bsize } = statfsSync(folder)
  if (bavail * bsize >= needed) return
  const megabytes = (bytes: number) => `${Math.ceil(bytes / 1024 ** 2)} MB`
  const message = `it takes ${megabytes(needed)} of disk space, of which ${megabytes(bavail * bsize)} are free in ${folder}`
  throw Object.assign(new RepositoryRefused(message), { code: 'ENOSPC' })
}

/** A whole run below a folder of its own, durable when it has its name; as root, so that files get their owners. */
export async function ensureRestored(restic: Restic, run: string, to: string): Promise<void> {
  if (existsSync(to)) return
  await rm(`${to}.new`, { recursive: true, force: true })
  await restoreRun(restic, run, `${to}.new`)
  await syncFileSystem(`${to}.new`)
  await rename(`${to}.new`, to)
}

async function restoreRun(restic: Restic, run: string, to: string): Promise<void> {
  await restic(['restore', run, '--no-lock', '--target', to], { timeout_seconds, as_root: true })
}

/** Undefined: it has been put in place. */
export async function findSnapshotFolder(data: string, snapshot_id: string): Promise<string | undefined> {
  const entries = await readdir(data, { recursive: true })
  const found = entries.find((path) => path.endsWith(`/snapshots/${snapshot_id}`))
  return found && join(data, found)
}

/** The first WAL file that a snapshot needs. */
export function startOf(snapshot_folder: string): string {
  const text = readFileSync(join(snapshot_folder, 'snapshot.json'), 'utf8')
  return (JSON.parse(text) as { start_wal_file: string }).start_wal_file // the provider's own facts
}

type Moments = { service_id: string; taken_at: Date; at?: Date | undefined }

/** The run with the WAL up to the moment, or the last run with WAL of the service at all: it may be deleted or lost since. */
export async function findWalRun(lists: Lists, runs: readonly Run[], { service_id, taken_at, at }: Moments) {
  const after = runs.filter(({ tags, time }) => tags.includes('wal') && time >= taken_at)
  const isThere = async ({ id }: Run) => {
    const { files } = await lists.read(id)
    return [...files.keys()].some((path) => path.startsWith(`${walFolderOf(service_id)}/`))
  }
  const wanted = walRunOf(after, at, service_id)
  if (wanted === undefined || (await isThere(wanted))) return wanted?.id
  // Runs have it up to some moment, and none after that.
  let [low, high] = [-1, after.indexOf(wanted)]
  while (high - low > 1) {
    const middle = Math.floor((low + high) / 2)
    const run = after[middle]
    if (run && (await isThere(run))) low = middle
    else high = middle
  }
  return after[low]?.id
}
