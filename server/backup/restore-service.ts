// One service of a restore, out of the files fetched into its place: the newest snapshot that leads to the moment, and the WAL after it.
// Its choice is written down before anything is moved, so a restore that is repeated goes on with the same.
import { rename, rm } from 'node:fs/promises'
import { join } from 'node:path'
import { readIfThere } from '#providers/host/read.ts'
import type { Backup, FetchedService } from '#providers/provider.ts'
import { ensureRestored, findSnapshotFolder, findWalRun, startOf } from './fetch.ts'
import type { Lists, Restic, Run } from './restic.ts'
import type { RestorePlan, StoredSnapshot } from './restore-plan.ts'
import { ensureWalFrom, walFolderOf } from './restore-wal.ts'
import { replaceWhole } from '../whole-file.ts'

type Putting = {
  restic: Restic
  lists: Lists
  runs: readonly Run[]
  plan: RestorePlan
  /** With all that is fetched. */
  folder: string
  /** Of its region. */
  backup: Backup
  service_id: string
  port: number
}

export type Restored = { service_id: string; snapshot_id: string; taken_at: string }

/** The WAL of all services, below the folder of a restore. */
export const walIn = (folder: string) => join(folder, 'wal')

/** Undefined: no snapshot leads to the moment. gap: a sentence: up to where it recovers. */
export async function putService(putting: Putting): Promise<(Restored & { gap?: string | undefined }) | undefined> {
  const { plan, folder, backup, service_id, port } = putting
  const chosen = join(folder, `chosen-${service_id}`)
  const chosen_id = await readIfThere(chosen)
  for (const snapshot of plan.snapshots[service_id] ?? []) {
    const { snapshot_id, taken_at } = snapshot
    if (chosen_id !== undefined && chosen_id !== snapshot_id) continue
    const fetched = await fetchFrom(putting, snapshot)
    // It has been put in place.
    if (fetched === undefined) return { service_id, snapshot_id, taken_at }
    if (chosen_id === undefined) {
      if (!(await backup.leadsOn(fetched, plan.at))) {
        await removeData(folder, snapshot_id)
        continue
      }
      await replaceWhole(chosen, snapshot_id)
    }
    const gap = await backup.restore({ service_id, port, at: plan.at, ...fetched })
    return { service_id, snapshot_id, taken_at, gap }
  }
  return undefined
}

const dataIn = (folder: string, snapshot_id: string) => join(folder, `data-${snapshot_id}`)

/** Undefined: the folder of the snapshot has been moved into the service. */
async function fetchFrom(
  { restic, lists, runs, plan, folder, service_id }: Putting,
  { run, snapshot_id, taken_at }: StoredSnapshot,
): Promise<FetchedService | undefined> {
  const data = dataIn(folder, snapshot_id)
  await ensureRestored(restic, run, data)
  const snapshot_folder = await findSnapshotFolder(data, snapshot_id)
  if (snapshot_folder === undefined) return undefined
  const needed = { service_id, start_wal_file: startOf(snapshot_folder), taken_at: new Date(taken_at) }
  const last = await findWalRun(lists, runsOf(plan, runs), { ...needed, at: momentOf(plan) })
  // Of a service that the chosen run lacks, because it was deleted or lost by then, or that it is behind with, another one has more.
  const has_last = last === undefined || last === plan.wal
  const target = has_last ? walIn(folder) : join(folder, `wal-${service_id}`)
  if (plan.wal !== undefined) {
    await ensureWalFrom({ ...needed, restic, lists, runs, last: last ?? plan.wal, has_last, durable: true, target })
  }
  return { snapshot_id, snapshot_folder, wal_folder: join(target, walFolderOf(service_id)) }
}

const momentOf = ({ at }: RestorePlan) => (at === undefined ? undefined : new Date(at))

/** Without a moment those up to the run that was chosen: the repository may have grown since. */
const runsOf = ({ at, wal }: RestorePlan, runs: readonly Run[]) =>
  at === undefined ? runs.slice(0, runs.findIndex(({ id }) => id === wal) + 1) : runs

/** At once, so that half of it is never taken for what has been put in place. */
async function removeData(folder: string, snapshot_id: string): Promise<void> {
  const aside = join(folder, `not-on-the-way-${snapshot_id}`)
  await rm(aside, { recursive: true, force: true })
  await rename(dataIn(folder, snapshot_id), aside)
  await rm(aside, { recursive: true })
}
