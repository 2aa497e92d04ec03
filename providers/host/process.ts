// What /proc says of all processes of this host. It only reads. The owner of a process's folder says little (the folder of an
// undumpable process is root's), so users are read from its status, all four of them.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { isExhausted } from './read.ts'

export type HostProcess = {
  pid: number
  parent: number
  /** Real, effective, saved, of the file system. */
  uids: readonly number[]
}

/** Reading a file of /proc takes some 20 µs: so many are read before other work has a turn. */
const at_a_stretch = 64

let under_way: Promise<unknown> = Promise.resolve()
let next: Promise<readonly HostProcess[]> | undefined

/**
 * All that live; zombies do not, unless threads of theirs go on. The listing begins after the call;
 * callers that come while another listing is under way share the next one.
 */
export function listHostProcesses(): Promise<readonly HostProcess[]> {
  next ??= under_way.then(() => {
    next = undefined
    const reading = readProcesses()
    under_way = reading.catch(() => undefined)
    return reading
  })
  return next
}

async function readProcesses(): Promise<HostProcess[]> {
  const found: HostProcess[] = []
  for (const [at, pid] of listPids().entries()) {
    if (at % at_a_stretch === at_a_stretch - 1) await nextTurn()
    const process = findHostProcess(pid)
    if (process) found.push(process)
  }
  return found
}

/** Also of zombies. */
export function listPids(): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
}

export function findHostProcess(pid: number): HostProcess | undefined {
  const status = textOf(`/proc/${pid}/status`)
  const [, state = '', parent = '', uids = ''] = status_form.exec(status) ?? []
  const threads = Number(/\nThreads:\t(\d+)\n/.exec(status)?.[1])
  if (uids === '' || ('ZX'.includes(state) && threads <= 1)) return undefined
  return { pid, parent: Number(parent), uids: uids.split('\t').map(Number) }
}

/** A process chooses its name, which is in the first line: the kernel escapes line feeds there, and no other end of a line. */
const status_form = /\nState:\t(\w).*?\nPPid:\t(\d+)\n.*?\nUid:\t([\d\t]+)\n/s

/** Its working directory; empty when we may not read it. */
export function folderOf({ pid }: Pick<HostProcess, 'pid'>): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`)
  } catch {
    return ''
  }
}

export const wordsOf = ({ pid }: Pick<HostProcess, 'pid'>): string[] => textOf(`/proc/${pid}/cmdline`).split('\0')

export const groupsTextOf = ({ pid }: Pick<HostProcess, 'pid'>): string => textOf(`/proc/${pid}/cgroup`)

/** Its session: a process is forked inside one or begins its own, so none can enter another's. */
export const sessionOf = (pid: number): string | undefined => statOf(pid)[3]

/** With its start it differs from every other process that ever had its number. */
export const identityOf = (pid: number): string => `${pid}/${statOf(pid)[19]}`

/** The kernel's PF_EXITING. */
const exiting = 0x4

/**
 * Whether it runs its program. A killed process stops doing so long before it is reaped: a server with much shared memory takes
 * hundreds of milliseconds to give it back.
 */
export function isAtWork(pid: number): boolean {
  return threadsOf(pid).some((thread) => {
    const flags = statOf(`${pid}/task/${thread}`)[6]
    return flags !== undefined && (Number(flags) & exiting) === 0
  })
}

function threadsOf(pid: number): string[] {
  try {
    return readdirSync(`/proc/${pid}/task`)
  } catch (error) {
    if (isExhausted(error)) throw error
    return []
  }
}

/** The fields after the name in brackets, which may hold anything. */
function statOf(pid: number | string): string[] {
  const stat = textOf(`/proc/${pid}/stat`)
  return stat.slice(stat.lastIndexOf(')') + 2).split(' ')
}

/** Processes exit while they are being read. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'latin1')
  } catch (error) {
    // Taken for dead, a process would lose its lock, or be replaced while it runs.
    if (isExhausted(error)) throw error
    return ''
  }
}
