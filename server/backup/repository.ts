// The repository: one for each installation. It is made by an operator alone, found again by its id, and has one owner.
// 1. Nothing makes a repository by itself: a disk that is not mounted looks like an empty folder.
// 2. The newest run with the tag `owner` names the installation that may write. A restored installation takes over; the lost one, should
//    it come back, or never have been lost, is refused at its next run.
import { randomBytes, randomUUID } from 'node:crypto'
import { access, chown, mkdir, readdir, readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { mayGiveUsers } from '#providers/host/privilege.ts'
import { errorCode, readIfThere } from '#providers/host/read.ts'
import { unprivileged } from '#providers/host/user-map.ts'
import type { BackupTarget } from '../backup-target.ts'
import {
  backupFilesOf,
  ensureBackupFolder,
  ensureDailyKey,
  findOwnRepository,
  type OwnRepository,
  saveDailyKeyId,
  saveOwnRepository,
} from './backup-files.ts'
import { addKey } from './key.ts'
import { type DeadLocks, isLocked, newDeadLocks } from './dead-locks.ts'
import { listRuns, newRestic, type Restic, ResticError, type Run, type Secrets } from './restic.ts'

/** What must be known to reach the repository of an installation. */
export type Place = {
  data_dir: string
  installation_id: string
  target: BackupTarget
  secrets: Secrets
  /** Ends what runs. */
  signal?: AbortSignal | undefined
}

export type Repository = { restic: Restic; runs: Run[] }

/** What an operator has to change; the message says how. */
export class RepositoryRefused extends Error {
  override readonly name = 'RepositoryRefused'
}

const short_seconds = 60
/** Of the id of a run that they made, old versions of restic tell so much. */
const told_chars = 8
/** 26 letters and the digits that are not mistaken for letters. */
const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'

export function resticOf({ data_dir, target, secrets, signal }: Place): Restic {
  const { cache, daily_key: file, daily_key_id: id_file } = backupFilesOf(data_dir)
  return newRestic({ target, secrets, signal, cache, key: { file, id_file } })
}

/** Refuses what is not, or no longer, ours. */
export async function openRepository(place: Place, locks = newDeadLocks()): Promise<Repository> {
  const own = await findOwnRepository(backupFilesOf(place.data_dir))
  const { target } = place
  if (own === undefined) {
    throw new RepositoryRefused(
      `there is no repository for this installation yet; make it with howdah admin backup init --backup-to ${target.text}`,
    )
  }
  await refuseMissingFolder(target)
  const restic = resticOf(place)
  const repository_id = await readRepositoryId(restic)
  if (repository_id !== own.repository_id) {
    throw new RepositoryRefused(`at ${target.text} is another repository than before; nothing is written to it`)
  }
  // What a killed process of ours has locked stays locked for all others until then.
  await locks.remove(restic)
  const runs = await listRuns(restic)
  refuseOther(runs, own, target)
  await ensureKeyId(place, restic)
  return { restic: ownersOnly(restic, runs, () => refuseOther(runs, own, target)), runs }
}

function refuseOther(runs: readonly Run[], { incarnation }: OwnRepository, target: BackupTarget): void {
  const owner = runs.findLast(({ tags }) => tags.includes('owner'))
  if (owner === undefined || owner.tags.includes(`incarnation-${incarnation}`)) return
  throw new RepositoryRefused(
    `installation ${owner.hostname} took over the repository at ${target.text} on ${owner.time.toISOString()}; this one no longer writes to it`,
  )
}

/** runs: those that this process knows. Before each change the repository is asked for others, and all are read again when it has some. */
function ownersOnly(restic: Restic, runs: Run[], refuse: () => void): Restic {
  return async (args, options) => {
    if (['backup', 'forget', 'prune'].includes(args[0] ?? '')) {
      const text = await restic(['list', 'snapshots', '--no-lock'], { timeout_seconds: short_seconds })
      const known = new Set(runs.map(({ id }) => id.slice(0, told_chars)))
      const isKnown = (id: string) => known.has(id.slice(0, told_chars))
      if (!text.split('\n').filter(Boolean).every(isKnown)) runs.splice(0, runs.length, ...(await listRuns(restic)))
      refuse()
    }
    return await restic(args, options)
  }
}

async function ensureKeyId(place: Place, restic: Restic): Promise<void> {
  const { daily_key_id } = backupFilesOf(place.data_dir)
  if ((await readIfThere(daily_key_id)) === undefined) await addDailyKey(place, restic)
}

/**
 * restic: opened by any key. Where the repository does not take a key from us, restic makes it. Then restic is told which key ours is:
 * it would else try those of others first.
 */
async function addDailyKey(place: Place, restic: Restic): Promise<void> {
  const files = backupFilesOf(place.data_dir)
  const password = (await readFile(files.daily_key, 'utf8')).trim()
  const added = await addKey(restic, place, password).catch(() => addKeyByRestic(restic, password))
  const id = added ?? (await listKeys(resticOf(place))).find(({ current }) => current)?.id
  if (id !== undefined) await saveDailyKeyId(files, id)
}

/** It does not tell the id. */
async function addKeyByRestic(restic: Restic, password: string): Promise<undefined> {
  // Not by a file: a process that is killed would leave it.
  await restic(['key', 'add'], { timeout_seconds: short_seconds, input: `${password}\n` })
}

type Key = { id: string; current: boolean }

const listKeys = async (restic: Restic) =>
  JSON.parse(await restic(['key', 'list', '--json'], { timeout_seconds: short_seconds })) as Key[] // restic's own form

/** By a thread: a mounted share that does not answer holds up none but the caller. */
export async function refuseMissingFolder({ folder }: BackupTarget): Promise<void> {
  if (folder === undefined || (await isRepository(folder))) return
  throw new RepositoryRefused(`there is no repository in ${folder}; check that its disk is mounted`)
}

const isRepository = (folder: string): Promise<boolean> =>
  access(join(folder, 'config')).then(
    () => true,
    () => false,
  )

async function readRepositoryId(restic: Restic): Promise<string> {
  const config = JSON.parse(await restic(['cat', 'config', '--no-lock'], { timeout_seconds: short_seconds })) as {
    id: string
  } // restic's own form
  return config.id
}

/** Makes the repository, or finishes what a killed command began. Returns the recovery key, which is kept nowhere. */
export async function initRepository(place: Place): Promise<string> {
  const { target } = place
  const files = backupFilesOf(place.data_dir)
  if (await findOwnRepository(files)) {
    throw new RepositoryRefused(
      `this installation has a repository already, whose recovery key was shown when it was made; for another one stop the server, move ${files.folder} away, and run this again`,
    )
  }
  await ensureBackupFolder(files)
  await ensureDailyKey(files)
  await ensureTargetFolder(target)
  const restic = resticOf(place)
  await restic(['cat', 'config', '--no-lock'], { timeout_seconds: short_seconds }).catch(async (error: unknown) => {
    if (!(error instanceof ResticError)) throw error
    if (/wrong password/.test(error.message)) {
      throw new RepositoryRefused(
        `at ${target.text} is the repository of another installation; choose another place, or restore from it with howdah admin restore --from`,
      )
    }
    if (!/config file/.test(error.message)) throw error
    await restic(['init'], { timeout_seconds: short_seconds })
  })
  await ensureKeyId(place, restic)
  if ((await listRuns(restic)).length === 0) await removeOtherKeys(restic)
  const recovery_key = newRecoveryKey()
  await addKeyByRestic(restic, recovery_key)
  await claimRepository(place)
  return recovery_key
}

/** From now on this installation alone writes to it. */
export async function claimRepository(place: Place): Promise<void> {
  const restic = resticOf(place)
  const own = { repository_id: await readRepositoryId(restic), incarnation: randomUUID() }
  const named = ['--host', place.installation_id, '--tag', `owner,incarnation-${own.incarnation}`]
  const told = ['backup', '--stdin', '--stdin-filename', 'howdah.json', ...named]
  const input = JSON.stringify({ installation_id: place.installation_id })
  await restic(told, { timeout_seconds: short_seconds, input })
  await saveOwnRepository(backupFilesOf(place.data_dir), own)
}

/**
 * An empty folder becomes that of the user which restic has. None is made above it: where a mount point is misspelt, the repository would
 * be on the disk of the root.
 */
async function ensureTargetFolder({ folder }: BackupTarget): Promise<void> {
  if (folder === undefined || (await isRepository(folder))) return
  await mkdir(folder, { mode: 0o700 }).catch((error: unknown) => {
    if (errorCode(error) === 'EEXIST') return
    if (errorCode(error) !== 'ENOENT') throw error
    throw new RepositoryRefused(
      `there is no folder ${dirname(folder)}; check its name and that its disk is mounted, or make it`,
    )
  })
  if ((await readdir(folder)).some((name) => name !== 'lost+found')) {
    throw new RepositoryRefused(`${folder} is not empty and no repository; choose an empty folder or a new one`)
  }
  if (mayGiveUsers()) await chown(folder, unprivileged.uid, unprivileged.gid)
}

/**
 * Of a repository that holds nothing yet: the key that restic gave it, which takes long to open, and the recovery key of a killed command,
 * which was not shown.
 */
async function removeOtherKeys(restic: Restic): Promise<void> {
  for (const { id, current } of await listKeys(restic)) {
    if (!current) await restic(['key', 'remove', id], { timeout_seconds: short_seconds })
  }
}

/**
 * Opened by the key of this data directory, which the recovery key adds to it. Only restic waits for locks to do so: where the repository
 * takes no key from us and is locked, it is opened by the recovery key itself. Without a recovery key an earlier attempt has added the other.
 */
export async function openToRestore(
  place: Place,
  recovery_key: string | undefined,
  locks: DeadLocks,
): Promise<{ restic: Restic; by_daily_key: boolean }> {
  const files = backupFilesOf(place.data_dir)
  await ensureBackupFolder(files)
  const is_new = await ensureDailyKey(files)
  const by_daily_key = { restic: resticOf(place), by_daily_key: true }
  if (recovery_key === undefined) return by_daily_key
  const { target, secrets } = place
  const by_recovery_key = newRestic({ target, secrets, cache: files.cache, key: { text: recovery_key } })
  try {
    await ensureDailyKeyAdded(place, by_recovery_key, is_new)
    return by_daily_key
  } catch (error) {
    if (!isLocked(error)) throw error
    await locks.remove(by_recovery_key)
    return { restic: by_recovery_key, by_daily_key: false }
  }
}

/** restic: opened by any key. */
export async function ensureDailyKeyAdded(place: Place, restic: Restic, is_new = false): Promise<void> {
  const opens = () =>
    readRepositoryId(resticOf(place)).then(
      () => true,
      () => false,
    )
  if (is_new || !(await opens())) await addDailyKey(place, restic)
}

/** 256 bits, in groups that can be read aloud. */
function newRecoveryKey(): string {
  const letters = [...randomBytes(52)].map((byte) => alphabet[byte % alphabet.length])
  return (letters.join('').match(/.{1,4}/g) ?? []).join('-')
}

/** As a person typed it. */
export const recoveryKeyOf = (text: string): string => text.trim().toUpperCase()
