// The files of a user: where they lie, and how they change: whole, under a lock, readable for their user only. Two commands at once never
// lose each other's change.
import { randomUUID } from 'node:crypto'
import { link, mkdir, open, readFile, realpath, rename, rm, stat, utimes, writeFile } from 'node:fs/promises'
import { homedir } from 'node:os'
import { dirname, join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { messageOf } from '../visible.ts'
import { CommandError } from '../command.ts'

const lock_patience_ms = 30_000
const lock_poll_ms = 50
export const lock_beat_ms = 5000

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
  const found = await stat(target).catch(() => undefined)
  // A device, such as /dev/null, would be replaced by a file.
  if (found?.isFile() === false) throw new CommandError(`${file} is no regular file, so nothing is written there`)
  const aside = `${target}.${process.pid}`
  try {
    await mkdir(dirname(target), { recursive: true, mode: 0o700 })
    await writeFile(aside, text, { mode: 0o600, flush: true })
    await rename(aside, target)
  } catch (error) {
    await rm(aside, { force: true }).catch(() => undefined)
    throw unwritable(file, error)
  }
}

function unwritable(file: string, error: unknown): CommandError {
  return new CommandError(`${file} cannot be written: ${messageOf(error)}`, { cause: error })
}

export async function withLock<T>(file: string, work: () => Promise<T>): Promise<T> {
  const lock = `${file}.lock`
  await mkdir(dirname(lock), { recursive: true, mode: 0o700 }).catch((error: unknown) => {
    throw unwritable(file, error)
  })
  const deadline = performance.now() + lock_patience_ms
  while (!(await take(lock, file))) {
    await removeStale(lock)
    if (performance.now() > deadline) throw new CommandError(`another command has the lock ${lock}; try again`)
    await pause(lock_poll_ms)
  }
  // A login that is renewed takes two requests, which together may take longer than a lock is believed.
  const beat = setInterval(() => void utimes(lock, new Date(), new Date()).catch(() => undefined), lock_beat_ms)
  try {
    return await work()
  } finally {
    clearInterval(beat)
    await rm(lock, { force: true })
  }
}

async function take(lock: string, file: string): Promise<boolean> {
  try {
    await (await open(lock, 'wx', 0o600)).close()
    return true
  } catch (error) {
    if (isCode(error, 'EEXIST')) return false
    throw unwritable(file, error)
  }
}

/** The lock of a command that was killed is not renewed any more. */
async function removeStale(lock: string): Promise<void> {
  const found = await stat(lock).catch(() => undefined)
  if (found === undefined || Date.now() - found.mtimeMs <= lock_patience_ms) return
  const aside = `${lock}.${randomUUID()}`
  try {
    await rename(lock, aside)
    // Where another command was faster, this is the lock that it took then, and goes back.
    if ((await stat(aside)).mtimeMs !== found.mtimeMs) await link(aside, lock)
  } catch (error) {
    if (!isCode(error, 'ENOENT') && !isCode(error, 'EEXIST')) throw error
  } finally {
    await rm(aside, { force: true })
  }
}

function isCode(error: unknown, code: string): boolean {
  return error instanceof Error && 'code' in error && error.code === code
}
