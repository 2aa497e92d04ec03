// The files of a user: where they lie, and how they change: whole, under a lock, readable for their user only. Two commands at once never
// lose each other's change.
import { mkdir, open, readFile, realpath, rename, rm, stat, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { CommandError } from '../command.ts'

const lock_patience_ms = 30_000
const lock_poll_ms = 50

export function configFile(name: string): string {
  return join(process.env['XDG_CONFIG_HOME'] || join(homedir(), '.config'), 'howdah', name)
}

export function cacheFile(name: string): string {
  return join(process.env['XDG_CACHE_HOME'] || join(homedir(), '.cache'), 'howdah', name)
}

/** Undefined where there is none. */
export async function findText(file: string): Promise<string | undefined> {
  try {
    return await readFile(file, 'utf8')
  } catch (error) {
    if (isCode(error, 'ENOENT')) return undefined
    throw new CommandError(`${file} cannot be read`, { cause: error })
  }
}

/** Undefined where there is none; what is no JSON object is told. */
export async function findJson(file: string): Promise<Record<string, unknown> | undefined> {
  const text = await findText(file)
  if (text === undefined) return undefined
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return { ...value }
  } catch {
    // Told below.
  }
  throw new CommandError(`${file} is no JSON object; mend or remove it`)
}

/** Through a link, as dotfiles often are, the file that it leads to is replaced. */
export async function saveText(file: string, text: string): Promise<void> {
  const target = await realpath(file).catch(() => file)
  await mkdir(dirname(target), { recursive: true, mode: 0o700 })
  const aside = `${target}.${process.pid}`
  await writeFile(aside, text, { mode: 0o600, flush: true })
  await rename(aside, target)
}

export async function withLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  const lock = `${file}.lock`
  await mkdir(dirname(lock), { recursive: true, mode: 0o700 })
  const deadline = performance.now() + lock_patience_ms
  while (!(await take(lock))) {
    // The command that took it was killed: no change takes longer than a request may.
    const since = await stat(lock).catch(() => undefined)
    if (since !== undefined && Date.now() - since.mtimeMs > lock_patience_ms) await rm(lock, { force: true })
    if (performance.now() > deadline) throw new CommandError(`another command has the lock ${lock}; try again`)
    await pause(lock_poll_ms)
  }
  try {
    return await work()
  } finally {
    await rm(lock, { force: true })
  }
}

async function take(lock: string): Promise<boolean> {
  try {
    await (await open(lock, 'wx', 0o600)).close()
    return true
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false
    throw error
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
