// All that a run of tests has left: processes, control groups, networks, shared memory, mounts and its folder. They are found by the
// folder's name, or by what lies in it, so other runs and installations of the same host are never touched. Safe to repeat.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { endProcessesOf, listProcesses, removeInstallation } from '#test/data-dir.ts'
import { removeSharedMemory, store_uid } from '#test/shared-memory.ts'
import { listInstallationIds } from './traces.ts'

export async function sweep(folder: string): Promise<void> {
  if (!existsSync(folder)) return
  // The workers among them are known by their environment alone.
  await endProcessesOf(() => listProcesses(folder, { by_environment: true }), folder)
  for (const installation_id of listInstallationIds(folder)) await removeInstallation(installation_id)
  for (const id of listSharedMemory(folder)) run('ipcrm', '-m', id)
  await removeSharedMemory(listUsers(folder))
  // The last mount lies deepest.
  for (const point of listMounts(folder).toReversed()) run('umount', '--lazy', point)
  run('rm', '-rf', '--one-file-system', '--', folder)
}

/** The segments of postmasters that were killed: their own files name them. A segment that is in use again is another server's. */
function listSharedMemory(folder: string): string[] {
  const files = run('find', folder, '-name', 'postmaster.pid', '-type', 'f').split('\n').filter(Boolean)
  const keys = files.map((file) => readFileSync(file, 'utf8').split('\n')[6]?.trim().split(/\s+/).join(' '))
  const rows = readFileSync('/proc/sysvipc/shm', 'utf8').split('\n')
  return rows.flatMap((line) => {
    const [key, id, , , , , attached] = line.trim().split(/\s+/)
    return id !== undefined && attached === '0' && keys.includes(`${key} ${id}`) ? [id] : []
  })
}

/** The users of services, wherever their data lies: each has a folder of that name in it. */
function listUsers(folder: string): Set<number> {
  const owners = run('find', folder, '-type', 'd', '-name', 'global', '-printf', '%U\\n')
  const users = owners.split('\n').map(Number)
  return new Set(users.filter((uid) => uid > store_uid))
}

function listMounts(folder: string): string[] {
  const points = readFileSync('/proc/self/mounts', 'utf8')
    .split('\n')
    .map((line) => line.split(' ')[1] ?? '')
  return points.filter((point) => point.startsWith(`${folder}/`))
}

/** What it printed; a failure is no reason to leave the rest. */
function run(program: string, ...words: string[]): string {
  try {
    return execFileSync(program, words, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] })
  } catch {
    return ''
  }
}
