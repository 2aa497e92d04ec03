// The program restic, run by us, for a bounded time, and for backups at a low priority. Everything
// that it is told but file names comes by its environment and files; no secret is an argument.
// 1. Its exit code 0 does not say that all files are in a backup: callers compare the list.
// 2. As root it reads as a user without rights but CAP_DAC_READ_SEARCH; only what restores runs as root, because it gives files owners.
// 3. Version 0.14 is enough.
// 4. What it says of each file is read line by line: a service has very many files, and a run lasts for hours.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { linesOf } from '#providers/host/lines.ts'
import { mayGiveUsers } from '#providers/host/privilege.ts'
import { findProgram, system_env } from '#providers/host/program.ts'
import { readIfThere } from '#providers/host/read.ts'
import { unprivileged } from '#providers/host/user-map.ts'
import type { BackupTarget } from '../backup-target.ts'

/** Of a run that copies little. */
export const run_timeout_seconds = 45

export type Restic = (args: readonly string[], options: RunOptions) => Promise<string>

export type RunOptions = {
  timeout_seconds: number
  /** Names in the arguments are relative to it. */
  cwd?: string
  /** Ends it, as the end of the server does. */
  signal?: AbortSignal
  /** Restored files get their owners. */
  as_root?: boolean
  /** Given to it, such as the contents of a file. */
  input?: string
  /** Gets each line of its answer, which is empty then. */
  onLine?: (line: string) => void
  /** It is interrupted when it has said this on stderr; the first group is the error in the repository. */
  ends_at?: RegExp
  /** Exit code 3, when some files could not be read, is no error. */
  may_lack?: boolean
  /** Without it that of a backup; of a restore 0, because a person waits. */
  nice?: number
}

/** key: the file with the password, or the password itself. id_file: which of the repository's keys it opens, where that is known. */
export type Access = {
  target: BackupTarget
  cache: string
  key: { file: string; id_file?: string } | { text: string }
  secrets: Secrets
  signal?: AbortSignal | undefined
}

export type Secrets = { aws_access_key_id: string | undefined; aws_secret_access_key: string | undefined }

/** restic said no; the message is its own last words. */
export class ResticError extends Error {
  override readonly name = 'ResticError'
}

const missing_sentence = 'backups need restic, which this host does not have; install it with apt-get install restic'

/** Characters of what restic says that a message repeats. */
const words_max = 500
/** Of its failures, the last of which says what it ended with. */
const failure_characters_max = 256 * 1024
const kill_after_seconds = 5
/** A backup gives way, but a busy machine must not keep it from ending in time. */
const backup_nice = 10
export const list_timeout_seconds = 120

export function newRestic({ target, cache, key, secrets, signal }: Access): Restic {
  const env: NodeJS.ProcessEnv = {
    ...system_env,
    TZ: 'UTC',
    // By itself it tells 60 times a second how far it is.
    RESTIC_PROGRESS_FPS: '0.01',
    RESTIC_REPOSITORY: target.repository,
    RESTIC_CACHE_DIR: cache,
    ...(secrets.aws_access_key_id !== undefined && { AWS_ACCESS_KEY_ID: secrets.aws_access_key_id }),
    ...(secrets.aws_secret_access_key !== undefined && { AWS_SECRET_ACCESS_KEY: secrets.aws_secret_access_key }),
  }
  const limits = target.upload_kib_per_second === undefined ? [] : ['--limit-upload', `${target.upload_kib_per_second}`]
  const run = async (opened_by: NodeJS.ProcessEnv, args: readonly string[], options: RunOptions): Promise<string> => {
    const { timeout_seconds, cwd = '/', as_root = false, input, may_lack = false } = options
    const restic = await findProgram('restic')
    if (restic === undefined) throw new ResticError(missing_sentence)
    const gently = ['nice', '-n', `${options.nice ?? (as_root ? 0 : backup_nice)}`]
    // Else restic tries one key after the other, and those that it made itself take long.
    const key_id = 'file' in key && key.id_file !== undefined ? await readIfThere(key.id_file) : undefined
    // Interrupted, restic removes its lock; terminated, it does not.
    const command = ['timeout', '-s', 'INT', '-k', `${kill_after_seconds}`, `${timeout_seconds}`, ...gently, restic]
    // What root puts into the cache, the other user cannot change.
    const unshared = as_root ? ['--no-cache'] : []
    const [program = '', ...words] = [...withRights(as_root), ...command, ...unshared, ...limits, ...args]
    const child = spawn(program, words, {
      cwd,
      env: { ...env, ...opened_by, ...(key_id !== undefined && { RESTIC_KEY_HINT: key_id }) },
      stdio: ['pipe', 'pipe', 'pipe'],
    })
    const stop = () => child.kill('SIGINT')
    for (const one of [signal, options.signal]) {
      one?.addEventListener('abort', stop, { once: true })
      child.once('close', () => one?.removeEventListener('abort', stop))
      if (one?.aborted) stop()
    }
    // It may end before it has read all.
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
    const failed = once(child, 'error').then(([error]) => {
      throw new ResticError(`restic cannot be run: ${String(error)}`)
    })
    const answer = options.onLine ? tellLines(child.stdout, options.onLine) : readText(child.stdout)
    // A line that is none of restic's, which its reader does not take.
    answer.catch(stop)
    const isEnd = (said: string) => options.ends_at?.test(said) && stop()
    const ended = Promise.all([answer, readText(child.stderr, failure_characters_max, isEnd), once(child, 'close')])
    const [stdout, stderr] = await Promise.race([ended, failed])
    if (child.exitCode === 0 || (may_lack && child.exitCode === 3)) return stdout
    if (child.exitCode === 124) throw new ResticError(`restic ${args[0]} has not ended in ${timeout_seconds} s`)
    const [, damage] = options.ends_at?.exec(stderr) ?? []
    if (damage !== undefined) throw new ResticError(`repository contains errors: ${damage}`)
    throw new ResticError(
      sentenceOf(stderr) || `restic ${args[0]} ended with code ${child.exitCode ?? child.signalCode}`,
    )
  }
  // No file has a key that is not to stay here: a process that is killed would leave it.
  const opened_by = 'file' in key ? { RESTIC_PASSWORD_FILE: key.file } : { RESTIC_PASSWORD: key.text }
  return (args, options) => run(opened_by, args, options)
}

/** Its last characters, where there is a limit. */
async function readText(
  stream: Readable,
  characters_max = Infinity,
  onText?: (text: string) => unknown,
): Promise<string> {
  let text = ''
  for await (const piece of stream.setEncoding('utf8')) {
    text += String(piece)
    if (text.length > 2 * characters_max) text = text.slice(-characters_max)
    onText?.(text)
  }
  return text
}

async function tellLines(stream: Readable, onLine: (line: string) => void): Promise<''> {
  for await (const line of linesOf(stream)) onLine(line)
  return ''
}

/** It ends when this process does: what goes on by itself would store, or restore, beside what the next process does. */
function withRights(as_root: boolean): string[] {
  return ['setpriv', '--pdeathsig=INT', ...(as_root || !mayGiveUsers() ? [] : lessRights()), '--']
}

function lessRights(): string[] {
  const { uid, gid } = unprivileged
  const caps = ['inh-caps', 'ambient-caps', 'bounding-set'].map((set) => `--${set}=-all,+dac_read_search`)
  return [`--reuid=${uid}`, `--regid=${gid}`, '--clear-groups', ...caps]
}

/** Of several lines the fatal one. */
function sentenceOf(stderr: string): string {
  const lines = stderr.split('\n').filter((line) => line.trim() !== '')
  const fatal = lines.find((line) => /^Fatal: |already locked/.test(line)) ?? lines.at(-1) ?? ''
  // Of a damaged repository: which pack it is, or which file it was of.
  const named = /\bpack (id\b.* )?[0-9a-f]{8}|^ignoring error for /i
  const detail = lines.find((line) => named.test(line) && line !== fatal)
  return [fatal.replace(/^Fatal: /, ''), ...(detail === undefined ? [] : [detail])].join(': ').slice(0, words_max)
}

/** One run that restic keeps. */
export type Run = { id: string; time: Date; tags: readonly string[]; hostname: string }

export async function listRuns(restic: Restic): Promise<Run[]> {
  const text = await restic(['snapshots', '--json', '--no-lock'], { timeout_seconds: list_timeout_seconds })
  type Snapshot = { id: string; time: string; tags?: string[]; hostname: string }
  const listed = (JSON.parse(text) ?? []) as Snapshot[] // restic's own form
  return listed
    .map(({ id, time, tags = [], hostname }) => ({ id, time: new Date(time), tags, hostname }))
    .toSorted((a, b) => a.time.getTime() - b.time.getTime())
}

export type StoredRun = { id: string; files: ReadonlyMap<string, number> }

/** The files of a run with their sizes, and its whole id. Paths have no slash at their beginning. */
export async function readRun(restic: Restic, run_id: string): Promise<StoredRun> {
  const files = new Map<string, number>()
  let id = run_id
  const onLine = (line: string) => {
    const node = JSON.parse(line) as Listed // restic's own form
    if (node.struct_type === 'snapshot') id = node.id ?? id
    else if (node.type === 'file' && node.path !== undefined) files.set(node.path.slice(1), node.size ?? 0)
  }
  await restic(['ls', '--json', '--no-lock', run_id], { timeout_seconds: list_timeout_seconds, onLine })
  return { id, files }
}

/** The files of runs, each read once. */
export type Lists = { read(run_id: string): Promise<StoredRun> }

export function newLists(restic: Restic): Lists {
  const known = new Map<string, Promise<StoredRun>>()
  const read = (run_id: string) => {
    const found = known.get(run_id) ?? readRun(restic, run_id)
    known.set(run_id, found)
    return found
  }
  return { read }
}

type Listed = { struct_type: string; id?: string; type?: string; path?: string; size?: number }

/** time: what the run shows is not older. */
type NewRun = {
  host: string
  tags: readonly string[]
  parent?: string | undefined
  paths: readonly string[]
  time: Date
}

/** What restic says of a run that it made: its id, of which old versions tell the beginning, its files, and their bytes together. */
export type NewlyStored = { id: string; names: ReadonlySet<string>; bytes: number }

export async function storeRun(
  restic: Restic,
  { host, tags, parent, paths, time }: NewRun,
  options: RunOptions,
): Promise<NewlyStored> {
  const from = parent === undefined ? [] : ['--parent', parent]
  const utc = time.toISOString().slice(0, 19).replace('T', ' ')
  const named = ['--host', host, '--time', utc, '--tag', tags.join(','), ...from]
  const words = ['backup', '--json', '--verbose=2', ...named, '--', ...paths]
  const names = new Set<string>()
  let made: { id: string; bytes: number } | undefined
  const onLine = (line: string) => {
    if (!/"verbose_status"|"snapshot_id"/.test(line)) return
    const told = JSON.parse(line) as Told // restic's own form
    // Folders end with a slash.
    if (told.item !== undefined && !told.item.endsWith('/')) names.add(told.item.slice(1))
    const { snapshot_id: id, total_bytes_processed: bytes = -1 } = told
    if (id !== undefined) made = { id, bytes }
  }
  await restic(words, { ...options, may_lack: true, onLine })
  if (made === undefined) throw new ResticError('restic made no backup')
  return { ...made, names }
}

type Told = { item?: string; snapshot_id?: string; total_bytes_processed?: number }

/** The files of such a run. Where restic named those that were wanted and no others, and their bytes add up, its list need not be read. */
export async function listStored(
  restic: Restic,
  { id, names, bytes }: NewlyStored,
  wanted: ReadonlyMap<string, number>,
): Promise<StoredRun> {
  const sum = [...wanted.values()].reduce((total, one) => total + one, 0)
  const is_same = wanted.size > 0 && wanted.size === names.size && [...wanted.keys()].every((path) => names.has(path))
  return is_same && sum === bytes ? { id, files: wanted } : await readRun(restic, id)
}
