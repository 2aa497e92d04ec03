// Checksums of files at rest. A file is read once, soon after it is made, to note its checksum, and compared ever after: what differs has
// been damaged since. The folder is ours, so its names lead nowhere else; a program of the lowest priority reads it.
// A checksum is cksum's CRC with the file's size: decay is what it has to find, and SHA-256 takes some hundred times the processor time.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { readdir, rename, writeFile } from 'node:fs/promises'
import { join, relative } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { Untried } from '../../provider.ts'
import { signalIfThere } from '../../host/daemon.ts'
import { unlessGrown } from '../../host/growing.ts'
import { system_env } from '../../host/program.ts'
import { statIfThere } from '../../host/read.ts'
import { wal_file_bytes_max } from '../wal/wal.ts'

type Sums = Record<string, string>

/** problem: the rest of the sentence that begins with the path. */
type Damage = { path: string; problem: string }

/** sums: the file with the checksums. isNeeded: of a file that was there and is not: whether it should be. */
type AtRest = { folder: string; sums: string; isNeeded: (path: string) => boolean; signal: AbortSignal }

/** Reads a folder of staged WAL, to whose files the service's user may write: Grown is thrown when one of them grows meanwhile. */
export async function overStaged<Value>(
  folder: string,
  signal: AbortSignal,
  work: (signal: AbortSignal) => Promise<Value>,
): Promise<Value> {
  const paths = (await readdir(folder)).map((name) => `${folder}/${name}`)
  return await unlessGrown(paths, wal_file_bytes_max, (grown) => work(AbortSignal.any([signal, grown])))
}

/** Undefined: all is as it was noted. */
export async function compareSums({ folder, sums, isNeeded, signal }: AtRest): Promise<Damage | undefined> {
  const [known, { found, unread }] = [readSums(sums), await sumsOf([folder], folder, signal)]
  const differs = Object.entries(found).find(([path, sum]) => known[path] !== undefined && known[path] !== sum)?.[0]
  if (differs !== undefined)
    return { path: differs, problem: await differenceOf(join(folder, differs), found[differs]) }
  // Before those that are missing: of a folder that cannot be read all files are.
  if (unread !== undefined) return unread
  const missing = Object.keys(known).find((path) => found[path] === undefined && isNeeded(path))
  if (missing !== undefined) return { path: missing, problem: 'is missing' }
  await saveSums(sums, found)
  return undefined
}

/** cksum of coreutils 9.1 takes an error of the disk for the end of the file. */
async function differenceOf(path: string, sum = ''): Promise<string> {
  const size = (await statIfThere(path))?.size ?? 0
  return Number(sum.split(' ')[1]) < size ? 'cannot be read to its end' : 'differs from its checksum'
}

/** Of files that are not noted yet. Those that are noted and no longer there stay noted while they are needed. */
export async function noteSums({ folder, sums, isNeeded, signal }: AtRest): Promise<void> {
  const known = readSums(sums)
  const entries = await readdir(folder, { recursive: true, withFileTypes: true })
  const paths = entries.filter((entry) => entry.isFile()).map(({ parentPath, name }) => `${parentPath}/${name}`)
  const fresh = paths.filter((path) => known[relative(folder, path)] === undefined)
  if (fresh.length === 0) return
  const kept = Object.entries(known).filter(([path]) => isNeeded(path))
  // Of a folder that was never read, all in one go.
  const { found } = await sumsOf(fresh.length === paths.length ? [folder] : fresh, folder, signal)
  await saveSums(sums, { ...Object.fromEntries(kept), ...found })
}

async function saveSums(path: string, sums: Sums): Promise<void> {
  const aside = `${path}.${process.pid}.new`
  await writeFile(aside, JSON.stringify(sums), { mode: 0o600 })
  await rename(aside, path)
}

function readSums(path: string): Sums {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Sums // written above, in one piece
  } catch {
    return {}
  }
}

/** So many files as words of one command. */
const paths_at_once_max = 1_000

/** found: of all files that are there, but for those that cannot be read; unread: one of them. */
type Read = { found: Sums; unread: Damage | undefined }

/** A server that ends does not wait for it. */
async function sumsOf(paths: readonly string[], folder: string, signal: AbortSignal): Promise<Read> {
  const found: Sums = {}
  let unread: Damage | undefined
  for (let at = 0; at < paths.length; at += paths_at_once_max) {
    const chosen = paths.slice(at, at + paths_at_once_max)
    const words = ['-n', '19', 'find', ...chosen, '-type', 'f', '-exec', 'cksum', '-z', '--', '{}', '+']
    signal.throwIfAborted()
    // A group of its own: with find the programs that it has started are killed.
    const child = spawn('nice', words, { env: system_env, stdio: ['ignore', 'pipe', 'pipe'], detached: true })
    const kill = () => child.pid !== undefined && signalIfThere(-child.pid, 'SIGKILL')
    signal.addEventListener('abort', kill)
    const [output, errors] = await Promise.all([textOf(child.stdout), textOf(child.stderr), once(child, 'close')])
    signal.removeEventListener('abort', kill)
    signal.throwIfAborted()
    if (child.exitCode !== 0) unread ??= unreadIn(errors, folder)
    for (const [, sum = '', path = ''] of output.matchAll(/(\d+ \d+) ([^\0]+)\0/g)) found[relative(folder, path)] = sum
  }
  return { found, unread }
}

/** A file that was removed meanwhile is none. Throws Untried when the programs were ended: they say nothing of the other files. */
function unreadIn(errors: string, folder: string): Damage | undefined {
  const lines = errors.split('\n').filter(Boolean)
  const told = lines.map((line) => /^(?:find|cksum): '?(\/.+?)'?: ([^:]+)$/.exec(line))
  const broken_at = told.indexOf(null)
  if (broken_at !== -1 || lines.length === 0) {
    throw new Untried(`reading its files ended early: ${lines[broken_at] ?? 'the program was killed'}`)
  }
  const [, path = '', reason = ''] = told.find((one) => one?.[2] !== 'No such file or directory') ?? []
  return path === '' ? undefined : { path: relative(folder, path), problem: `cannot be read: ${reason}` }
}
