// Words before a program that takes its privileges away, for tests that run as root of what others get; and the files of the clone
// where such a program can read them.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, renameSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { basename, dirname, isAbsolute, join, relative } from 'node:path'

/** The unprivileged user that every host has, with the name `nobody`. */
export const unprivileged = 65_534

export const as_ordinary_user = `setpriv --reuid ${unprivileged} --regid ${unprivileged} --clear-groups --`.split(' ')

/** Such as on a host whose administrator does not let ordinary users have user namespaces. */
export const without_user_namespaces = [
  ...as_ordinary_user,
  ...`unshare --user --map-user=${unprivileged} --map-group=${unprivileged} --keep-caps -- sh -c`.split(' '),
  'echo 0 > /proc/sys/user/max_user_namespaces && exec setpriv --inh-caps=-all --ambient-caps=-all -- "$@"',
  'sh',
]

const repository = dirname(import.meta.dirname)

/** The same file of the clone for an ordinary user; other words stay as they are. Below a folder that only root may enter, in a copy that goes with the run. */
export function readable(path: string): string {
  const inside = isAbsolute(path) ? relative(repository, path) : '..'
  if (inside.startsWith('..') || isOpen(repository)) return path
  return join(ensureCopy(), inside)
}

function isOpen(folder: string): boolean {
  const others_may_enter = (statSync(folder).mode & 0o001) !== 0
  return others_may_enter && (folder === '/' || isOpen(dirname(folder)))
}

function ensureCopy(): string {
  const copy = join(tmpdir(), 'clone')
  if (existsSync(copy)) return copy
  const aside = mkdtempSync(`${copy}-`)
  const made = join(aside, 'clone')
  const unwanted = ['.git', 'node_modules/.cache'].map((name) => join(repository, name))
  // What a test bundles meanwhile comes and goes.
  const isWanted = (path: string) => !unwanted.includes(path) && !basename(path).startsWith('.bundle-')
  cpSync(repository, made, { recursive: true, verbatimSymlinks: true, filter: isWanted })
  execFileSync('chmod', ['--recursive', 'a+rX', made])
  try {
    renameSync(made, copy)
  } catch (error) {
    // Tests of other files may make one at the same time; theirs is as good.
    if (!existsSync(copy)) throw error
  }
  rmSync(aside, { recursive: true, force: true })
  return copy
}
