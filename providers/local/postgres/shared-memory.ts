// What processes of a service leave outside its folders: shared memory of a killed postmaster, which the next start of the same data
// directory would remove, and whatever code of a tenant made in the kernel's tables and in the folders that all users share.
// Only where a service has a user of its own can its things be told from its neighbours'.
import { execFile } from 'node:child_process'
import { lstatSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { promisify } from 'node:util'
import type { Effect } from '../host/effect.ts'
import { listHostProcesses } from '../../host/process.ts'
import { readIfThere } from '../../host/read.ts'
import { system_env } from '../../host/program.ts'
import type { Owner } from '../../host/user-map.ts'

/** All users can make files there. */
const shared_folders = ['/dev/shm', '/dev/mqueue', '/tmp', '/var/tmp']
/** The kernel's tables of System V: shared memory, semaphores, queues; and by which option an entry is removed. */
const tables = [
  { file: '/proc/sysvipc/shm', option: '-m', user_column: 7 },
  { file: '/proc/sysvipc/sem', option: '-s', user_column: 4 },
  { file: '/proc/sysvipc/msg', option: '-q', user_column: 7 },
] as const
const remove_timeout_ms = 5_000
/** The kernel has them in memory, microseconds each: so many are read before other work has a turn. */
const at_a_stretch = 500

export async function ensureSharedMemoryRemoved(effect: Effect, owner: Owner): Promise<void> {
  // Another installation of this host may run a service under the same user, for the port was free: then nothing is ours.
  if ((await listHostProcesses()).some(({ uids }) => uids.includes(owner.uid))) return
  await ensureFilesRemoved(effect, owner)
  for (const { file, option, user_column } of tables) {
    for (const id of entriesOf((await readIfThere(file)) ?? '', owner, user_column)) {
      await effect('shared memory: remove')
      // Fails when another server was faster, and where the tool is missing: then 56 bytes stay until the next boot.
      await promisify(execFile)('ipcrm', [option, id], { ...owner, env: system_env, cwd: '/' }).catch(() => undefined)
    }
  }
}

/** By a child that has this user: a tenant chose the names, and no process with more rights walks them. */
async function ensureFilesRemoved(effect: Effect, owner: Owner): Promise<void> {
  const found = await Promise.all(shared_folders.map((folder) => hasFilesOf(folder, owner)))
  const folders = shared_folders.filter((_, at) => found[at])
  if (folders.length === 0) return
  await effect('shared folders: remove files')
  const chosen = ['-mindepth', '1', '-maxdepth', '1', '-uid', String(owner.uid)]
  const words = [...folders, ...chosen, '-exec', 'rm', '-rf', '--one-file-system', '--', '{}', '+']
  const child = promisify(execFile)('find', words, { ...owner, env: system_env, cwd: '/', timeout: remove_timeout_ms })
  // Files that it cannot remove, or not in time, hinder only this user.
  await child.catch(() => undefined)
}

async function hasFilesOf(folder: string, owner: Owner): Promise<boolean> {
  const names = await readdir(folder).catch(() => [])
  for (const [at, name] of names.entries()) {
    if (at % at_a_stretch === at_a_stretch - 1) await nextTurn()
    if (lstatSync(join(folder, name), { throwIfNoEntry: false })?.uid === owner.uid) return true
  }
  return false
}

/** The ids of a user's entries in one of the kernel's tables: in the second column. */
export function entriesOf(table: string, owner: Owner, user_column: number): string[] {
  const rows = table.split('\n').map((line) => line.trim().split(/\s+/))
  return rows.filter((row) => row[user_column] === String(owner.uid)).map((row) => row[1] ?? '')
}
