// All that a run of tests has left: processes, control groups, networks, shared memory, mounts and its folder. They are found by the
// folder's name, or by what lies in it, so other runs and installations of the same host are never touched. Safe to repeat.
import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { endProcessesOf, listProcesses, removeInstallation } from '#test/data-dir.ts'
import { removeSharedMemory, usersOf } from '#test/shared-memory.ts'
import { listInstallationIds } from './traces.ts'

export async function sweep(folder: string): Promise<void> {
  if (!existsSync(folder)) return
  // The workers among them are known by their environment alone.
  await endProcessesOf(() => listProcesses(folder, { by_environment: true }), folder)
  for (const installation_id of listInstallationIds(folder)) await removeInstallation(installation_id)
  for (const id of listSharedMemory(folder)) run('ipcrm', '-m', id)
  const homes = readdirSync(folder).map((name) => join(folder, name))
  for (const home of homes.flatMap((path) => [path, join(path, 'local')])) {
    await removeSharedMemory(usersOf(join(home, 'services')))
  }
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
