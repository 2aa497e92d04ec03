// Data directories of tests: fresh ones, and their complete removal: processes, control
// groups, networks, shared memory and files, also after a failure, found by the directory's own name and nothing else.
// When a run of tests ends in the middle, test/run/sweep.ts does the same for all of them.
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, rmdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { folderOf, listPids as listAllPids } from '#providers/host/process.ts'
import { textOrNothing } from '#providers/host/read.ts'
import { possibleParents } from './control-groups.ts'
import { removeNetworks } from './networks.ts'
import { removeSharedMemory, sharedMemoryOf, usersOf } from './shared-memory.ts'
import { until } from './until.ts'

const prefix = join(tmpdir(), 'howdah-test-')
const patience_ms = 20_000

export function newDataDir(): string {
  return mkdtempSync(prefix)
}

/** Ends every process of the directory and removes all traces of it. Safe to repeat. */
export async function removeDataDir(data_dir: string): Promise<void> {
  assert(data_dir.startsWith(prefix), 'only directories that a test has made are removed')
  const installation_id = textOrNothing(join(data_dir, 'installation-id')).split('\n')[0] ?? ''
  await removeProvider(join(data_dir, 'local'), installation_id, data_dir)
}

/** The same for the directory of a provider, and all of the folder around it. */
export async function removeProvider(directory: string, installation_id: string, around = directory): Promise<void> {
  await endProcessesOf(() => listProcesses(around), around)
  await removeSharedMemory(usersOf(join(directory, 'services')))
  if (installation_id !== '') await removeInstallation(installation_id)
  // Of some thousand files, each of which costs several times as much when threads remove it.
  rmSync(around, { recursive: true, force: true, maxRetries: 5 })
}

export type Process = { pid: number; is_postgres: boolean }

/** Ends all that are listed, again and again until there are none. */
export async function endProcessesOf(list: () => Process[], owner: string): Promise<void> {
  const memory: { remove: () => void }[] = []
  // Also of processes that a server starts in its last moment.
  const listAll = () => {
    const found = list()
    memory.push(sharedMemoryOf(found.map(({ pid }) => pid)))
    return found
  }
  // Each listing reads all of /proc: the one that showed that a kind is gone says what else there is.
  let listed: Process[] | undefined = listAll()
  const end = (chosen: (process: Process) => boolean, signal: NodeJS.Signals) =>
    until(
      () => {
        const now = listed ?? listAll()
        const left = now.filter(chosen)
        for (const { pid } of left) signalIfThere(pid, signal)
        listed = left.length === 0 ? now : undefined
        return left.length === 0
      },
      { timeout_ms: patience_ms, what: `all processes of ${owner} end by ${signal}` },
    )
  // Servers first, or they would start again what is ended here.
  await end((process) => !process.is_postgres, 'SIGKILL')
  // SIGQUIT lets PostgreSQL free its shared memory, which SIGKILL would leave behind for good.
  await end((process) => process.is_postgres, 'SIGQUIT').catch(() => undefined)
  listed = undefined
  await end(() => true, 'SIGKILL')
  // Of an initdb that was interrupted: it frees nothing.
  for (const one of memory) one.remove()
}

/** What an installation has on the host outside its directory, when nothing of it runs any more. */
export async function removeInstallation(installation_id: string): Promise<void> {
  // A process counts in its group until it is reaped.
  const what = `the control groups of ${installation_id} can be removed`
  await until(() => removeControlGroups(installation_id), { timeout_ms: patience_ms, what })
  removeNetworks(installation_id)
}

/** The process ids of everything that runs on the directory. */
export function listPids(data_dir: string): number[] {
  return listProcesses(data_dir).map(({ pid }) => pid)
}

/** By their command, their folder, and if asked for by the environment that they were started in. */
export function listProcesses(folder: string, { by_environment = false } = {}): Process[] {
  const found: Process[] = []
  for (const pid of listAllPids().filter((one) => one !== process.pid)) {
    const command = textOrNothing(`/proc/${pid}/cmdline`)
    // An exiting process loses its command line first, and its folder a moment later.
    if (command === '') continue
    const cwd = folderOf({ pid })
    const environment = by_environment ? textOrNothing(`/proc/${pid}/environ`) : ''
    if (!command.includes(folder) && !cwd.startsWith(folder) && !environment.includes(folder)) continue
    found.push({ pid, is_postgres: /^(\S*\/)?postgres\b/.test(command) })
  }
  return found
}

/** False when some are still in use. */
function removeControlGroups(installation_id: string): boolean {
  const parents = possibleParents(installation_id)
  for (const parent of parents) {
    for (const entry of entriesOf(parent)) if (entry.isDirectory()) removeUnused(join(parent, entry.name))
    removeUnused(parent)
  }
  return !parents.some((parent) => existsSync(parent))
}

function removeUnused(group: string): void {
  try {
    rmdirSync(group)
  } catch {
    // It is not there, or has processes or groups.
  }
}

function entriesOf(path: string) {
  try {
    return readdirSync(path, { withFileTypes: true })
  } catch {
    return []
  }
}

function signalIfThere(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal)
  } catch {
    // It has just ended by itself.
  }
}
