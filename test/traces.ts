// What is on this host for the services of a data directory: files, processes and control groups, seen from outside and
// without asking the server. The crash tests compare it with what should be there.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { folderOf, listPids } from '#providers/host/process.ts'
import { textOrNothing } from '#providers/host/read.ts'
import { possibleParents } from './control-groups.ts'

/**
 * Everything that should not be there when exactly these services exist: traces of other services, unfinished
 * directories, second postmasters. Empty when all is in order.
 */
export function orphansOf(data_dir: string, service_ids: readonly string[]): string[] {
  const local = join(data_dir, 'local')
  const files = ['services', 'run'].flatMap((folder) =>
    namesIn(join(local, folder))
      .filter((name) => !service_ids.includes(serviceOf(name)))
      .map((name) => join(local, folder, name)),
  )
  const unfinished = [
    ...service_ids.flatMap((id) => foldersOfNodes(local, id).flatMap(listUnfinished)),
    ...listUnfinished(join(local, 'templates')),
  ]
  const groups = listControlGroups(data_dir).filter(
    (path) => !service_ids.includes(serviceOf(path.split('/').at(-1) ?? '')),
  )
  return [...files, ...unfinished, ...groups, ...orphanProcesses(local, service_ids)]
}

/** Folders and groups of a service's nodes are named after it and end in their number; those of its other daemons likewise. */
const serviceOf = (name: string) => name.replace(/[.-](\d+|pooler|balancer|relay)$/, '')

function foldersOfNodes(local: string, service_id: string): string[] {
  const home = join(local, 'services', service_id)
  return [home, ...namesIn(home).flatMap((name) => (name.startsWith('node-') ? [join(home, name)] : []))]
}

/** What the service's processes may use of the processors; undefined where the host enforces no limits. */
export function cpuLimitMillis(data_dir: string, service_id: string): number | undefined {
  const groups = listControlGroups(data_dir).filter((path) => path.endsWith(`/${service_id}`))
  const quotas = groups.flatMap((group) => [
    textOrNothing(join(group, 'cpu.max')),
    textOrNothing(join(group, 'cpu.cfs_quota_us')),
  ])
  const quota = quotas.find((text) => text !== '')
  // Microseconds in each tenth of a second.
  return quota === undefined ? undefined : Number.parseInt(quota, 10) / 100
}

/** The process id of the service's postmaster as its own pid file names it. */
export function postmasterPid(data_dir: string, service_id: string): number {
  const file = join(data_dir, 'local', 'services', service_id, 'data', 'postmaster.pid')
  return pidIn(readFileSync(file, 'utf8'))
}

/** In the first line of a pid file. One that is being written is empty, and a signal to process 0 goes to all processes of the run. */
export function pidIn(text: string): number {
  const pid = Number(text.split('\n')[0])
  if (!(pid > 0)) throw new Error(`no process is named by: ${text}`)
  return pid
}

/** Process ids of all postmasters that run on the service's data. */
export function listPostmasters(data_dir: string, service_id: string): number[] {
  const data = join(data_dir, 'local', 'services', service_id, 'data')
  const named = listPids().filter((pid) => {
    const words = textOrNothing(`/proc/${pid}/cmdline`).split('\0')
    return words[0]?.endsWith('/postgres') === true && words[words.indexOf('-D') + 1] === data
  })
  // A backend that was forked a moment ago still has its postmaster's command line.
  return named.filter((pid) => {
    const parent = parentOf(pid)
    return parent !== undefined && !named.includes(parent)
  })
}

/** Undefined when the process is dead by now. */
function parentOf(pid: number): number | undefined {
  const parent = /^PPid:\s*(\d+)/m.exec(textOrNothing(`/proc/${pid}/status`))?.[1]
  return parent === undefined ? undefined : Number(parent)
}

function orphanProcesses(local: string, service_ids: readonly string[]): string[] {
  const services = join(local, 'services')
  const strangers = listPids().flatMap((pid) => {
    const command = textOrNothing(`/proc/${pid}/cmdline`).replaceAll('\0', ' ')
    const cwd = folderOf({ pid })
    const name = new RegExp(`${services}/([^/ ]+)`).exec(`${cwd} ${command}`)?.[1]
    return name === undefined || service_ids.includes(name) ? [] : [`process ${pid}: ${command}`]
  })
  const doubles = service_ids
    .map((id) => ({ id, pids: listPostmasters(join(local, '..'), id) }))
    .filter(({ pids }) => pids.length > 1)
    .map(({ id, pids }) => `postmasters ${pids.join(', ')} of ${id}`)
  return [...strangers, ...doubles]
}

function listUnfinished(folder: string): string[] {
  return namesIn(folder)
    .filter((name) => name === 'data.new' || isGivenUp(name) || name.endsWith('.gone'))
    .map((name) => join(folder, name))
}

/** What is made beside the template names its maker; as long as that one lives, it is under way. */
function isGivenUp(name: string): boolean {
  const maker = /\.making-(\d+)-/.exec(name)?.[1]
  return maker !== undefined && !listPids().includes(Number(maker))
}

function listControlGroups(data_dir: string): string[] {
  const installation_id = readFileSync(join(data_dir, 'installation-id'), 'utf8').trim()
  return possibleParents(installation_id).flatMap((parent) => foldersIn(parent).map((name) => join(parent, name)))
}

function foldersIn(path: string): string[] {
  try {
    return readdirSync(path, { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? [entry.name] : []))
  } catch {
    return []
  }
}

function namesIn(path: string): string[] {
  try {
    return readdirSync(path)
  } catch {
    return []
  }
}
