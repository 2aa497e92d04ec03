// Which server processes run on a data directory: one small file each, `<data>/servers/<pid>.json`.
// 1. Several servers may share a directory, so a file belongs to one process and no lock is needed.
// 2. A file is believed only while the process that wrote it runs (same boot, same start time): a recycled
//    pid is never signalled. 3. The next command removes the files of processes that have ended.
import { mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { findHostProcess, identityOf } from '#providers/host/process.ts'
import { bootId } from '#providers/host/read.ts'
import type { Config } from '#server/config.ts'

/** url: once requests are answered there. */
export type RunningServer = { pid: number; born: string; url?: string }

/** Says that this process serves the directory, or is about to; the returned function takes it back. */
export function recordServer(data_dir: string, url?: string): () => void {
  const folder = folderOf(data_dir)
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const file = join(folder, `${process.pid}.json`)
  const server: RunningServer = {
    pid: process.pid,
    born: birthOf(process.pid) ?? '',
    ...(url !== undefined && { url }),
  }
  writeFileSync(`${file}.tmp`, JSON.stringify(server), { mode: 0o600 })
  renameSync(`${file}.tmp`, file)
  return () => rmSync(file, { force: true })
}

export function listRunning(data_dir: string): RunningServer[] {
  const folder = folderOf(data_dir)
  const servers: RunningServer[] = []
  for (const name of namesIn(folder)) {
    const file = join(folder, name)
    const server = parseRecord(file)
    if (server !== undefined && isRunning(server)) servers.push(server)
    else rmSync(file, { force: true })
  }
  return servers.sort((a, b) => a.pid - b.pid)
}

/** The address of a server of the data directory, or where one would be. */
export function serverOf({ data_dir, public_url, host, port }: Config): string {
  return public_url ?? findServing(data_dir) ?? `http://${host}:${port}`
}

/** The address of a server of the data directory that answers requests. */
export function findServing(data_dir: string): string | undefined {
  const url = listRunning(data_dir).find((one) => one.url !== undefined)?.url
  return url === undefined ? undefined : new URL(url).origin
}

export function isRunning(server: RunningServer): boolean {
  return birthOf(server.pid) === server.born
}

const folderOf = (data_dir: string) => join(data_dir, 'servers')

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder).filter((name) => name.endsWith('.json'))
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return []
    throw error
  }
}

function parseRecord(file: string): RunningServer | undefined {
  try {
    const value: unknown = JSON.parse(readFileSync(file, 'utf8'))
    if (typeof value !== 'object' || value === null) return undefined
    if (!('pid' in value) || !('born' in value)) return undefined
    const { pid, born } = value
    if (typeof pid !== 'number' || typeof born !== 'string') return undefined
    return { pid, born, ...('url' in value && typeof value.url === 'string' && { url: value.url }) }
  } catch {
    return undefined
  }
}

/** Differs from that of every other process that ever had this pid; undefined when none has it. */
function birthOf(pid: number): string | undefined {
  return findHostProcess(pid) && `${bootId()} ${identityOf(pid).split('/')[1]}`
}
