// The files of this installation about its backups, in one folder of the data directory: the key for daily use, which repository is ours,
// and how far the backups are. Each is replaced whole.
import { randomBytes } from 'node:crypto'
import { chown, mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { mayGiveUsers } from '#providers/host/privilege.ts'
import { readIfThere } from '#providers/host/read.ts'
import { unprivileged } from '#providers/host/user-map.ts'
import { makeOnce, replaceWhole } from '../whole-file.ts'

export type BackupFiles = ReturnType<typeof backupFilesOf>

export function backupFilesOf(data_dir: string) {
  const folder = join(data_dir, 'backup')
  return {
    folder,
    /** Opens the repository; the recovery key does, too. */
    daily_key: join(folder, 'daily.key'),
    /** Which of the repository's keys it opens. */
    daily_key_id: join(folder, 'key-id'),
    repository: join(folder, 'repository.json'),
    state: join(folder, 'state.json'),
    /** Names the process that makes the backups. */
    runner: join(folder, 'runner'),
    /** Services that drills have fetched, by their ids. */
    drill: join(folder, 'drill'),
    /** restic's own. */
    cache: join(folder, 'cache'),
    /** The metadata store as text. */
    meta: join(folder, 'meta'),
  }
}

/** incarnation: of all installations with the same id, such as a lost one and its restored successor, one may write. */
export type OwnRepository = { repository_id: string; incarnation: string }

export async function ensureBackupFolder({ folder, cache }: BackupFiles): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 })
  await mkdir(cache, { recursive: true, mode: 0o700 })
  if (mayGiveUsers()) await chown(cache, unprivileged.uid, unprivileged.gid)
}

/** Whether it was made now. */
export async function ensureDailyKey({ daily_key }: BackupFiles): Promise<boolean> {
  if ((await readIfThere(daily_key)) !== undefined) return false
  return await makeOnce(daily_key, `${randomBytes(32).toString('base64url')}\n`)
}

export async function findOwnRepository({ repository }: BackupFiles): Promise<OwnRepository | undefined> {
  const text = await readIfThere(repository)
  return text === undefined ? undefined : (JSON.parse(text) as OwnRepository) // written below, in one piece
}

export async function saveOwnRepository({ repository }: BackupFiles, own: OwnRepository): Promise<void> {
  await replaceWhole(repository, JSON.stringify(own))
}

/** Of one service. All in RFC 3339. */
export type Protection = {
  /** Every commit before it is in the backup. */
  wal_until?: string
  /** The moment of the newest snapshot in the backup. */
  last_backup_at?: string
  /** Why its WAL is not in the backup now; absent: it is. */
  problem?: string
}

export type BackupState = {
  /** Why nothing reaches the repository now; absent: all is well. */
  problem?: string | undefined
  /** Why snapshots do not reach it, or it could not be tidied; absent: all is well. */
  data_problem?: string | undefined
  /** What a check of the repository found; absent: nothing. */
  damage?: string | undefined
  /** The snapshot that is being copied: what there is of it in the repository has not been compared yet. */
  storing?: string | undefined
  /** When the repository was last tidied, repacked and checked. Kept here, because a server may be started more often than that. */
  tidied_at?: string
  repacked_at?: string
  checked_at?: string
  /** When a server last had something to say here. */
  saved_at: string
  services: Record<string, Protection>
}

export async function findState({ state }: BackupFiles): Promise<BackupState | undefined> {
  const text = await readIfThere(state)
  return text === undefined ? undefined : (JSON.parse(text) as BackupState) // written below, in one piece
}

export async function saveState({ state }: BackupFiles, now: BackupState): Promise<void> {
  await replaceWhole(state, JSON.stringify(now))
}

export async function saveDailyKeyId({ daily_key_id }: BackupFiles, id: string): Promise<void> {
  await replaceWhole(daily_key_id, id)
}
