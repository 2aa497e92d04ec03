// An ordinary user with sub ids, for tests of isolated installations. Root makes one up that only the test's own processes know:
// files of /etc are bound over in a mount namespace of theirs, so nothing of it stays. An ordinary user is itself.
import { spawnSync } from 'node:child_process'
import { copyFileSync, chownSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { newIsolation, subIdsOf } from '#providers/local/isolation.ts'
import { listPids, newDataDir, removeDataDir } from '#test/data-dir.ts'
import { newServicePorts } from '#test/ports.ts'
import { as_root } from '#test/provider/service-fixture.ts'
import { until } from '#test/until.ts'

export type SubIdUser = {
  /** Words before a program that is to run as this user. */
  prefix: readonly string[]
  /** Ids of the host. */
  uid: number
  first_sub_uid: number
  /** Makes a folder this user's own. */
  give(folder: string): void
  remove(): void
}

const uid = 64_123
const name = 'howdahtest'
/** No user of a host has such ids. */
const first_sub_uid = 1_500_000_000

/** `ids`: how many it has. */
export function newSubIdUser(ids = 65_536): SubIdUser {
  if (!as_root) {
    const own = userInfo()
    const { first } = subIdsOf(readFileSync('/etc/subuid', 'utf8'), own)
    return { prefix: [], uid: own.uid, first_sub_uid: first, give: () => undefined, remove: () => undefined }
  }
  const folder = mkdtempSync(join(tmpdir(), 'howdah-test-etc-'))
  copyFileSync('/etc/passwd', join(folder, 'passwd'))
  writeFileSync(join(folder, 'passwd'), `${name}:x:${uid}:${uid}::/nonexistent:/bin/sh\n`, { flag: 'a' })
  for (const file of ['subuid', 'subgid'])
    writeFileSync(join(folder, file), ids === 0 ? '' : `${name}:${first_sub_uid}:${ids}\n`)
  const binds = ['passwd', 'subuid', 'subgid'].map((file) => `mount --bind "$0/${file}" /etc/${file}`)
  const script = `${binds.join(' && ')} && exec setpriv --reuid ${uid} --regid ${uid} --clear-groups -- "$@"`
  return {
    prefix: ['unshare', '--mount', '--', 'sh', '-c', script, folder],
    uid,
    first_sub_uid,
    give: (path) => chownSync(path, uid, uid),
    remove: () => rmSync(folder, { recursive: true, force: true }),
  }
}

/** Flags that name a fresh data directory of the user and its ports; both end with the test. */
export function newPlace(user: SubIdUser): string[] {
  const { data_dir, words } = newSharedPlace(user)
  onTestFinished(() => removePlace(data_dir))
  return words
}

/** The same for several tests, after which it is removed. */
export function newSharedPlace(user: SubIdUser): { data_dir: string; words: string[] } {
  const data_dir = newDataDir()
  user.give(data_dir)
  const { first, last } = newServicePorts()
  return { data_dir, words: ['--data-dir', data_dir, '--service-ports', `${first}-${last}`] }
}

/** Processes and files of sub ids are not their owner's to end and remove: an ordinary user is root over them for it. */
export async function removePlace(data_dir: string): Promise<void> {
  if (!as_root) {
    // As removeDataDir does: a server that is quit frees its shared memory.
    const quit = () => listPids(data_dir).every((pid) => killInside(pid, 'QUIT').status !== 0)
    await until(quit, { timeout_ms: 20_000 }).catch(() => undefined)
    for (const pid of listPids(data_dir)) killInside(pid)
    asOwner('rm', '-rf', data_dir)
  }
  await removeDataDir(data_dir)
}

/** A file of a service; empty when there is none. */
export const readInside = (path: string): string => asOwner('cat', path).stdout

/** Over files of sub ids: their owner is root in a namespace that has all of them. */
function asOwner(...words: string[]) {
  const enter = as_root ? [] : ['unshare', '--map-auto', '--map-root-user', '--']
  const [program = '', ...rest] = [...enter, ...words]
  return spawnSync(program, rest, { encoding: 'utf8' })
}

export const killInside = (pid: number, signal: 'KILL' | 'QUIT' = 'KILL') =>
  spawnSync('nsenter', [`--user=/proc/${pid}/ns/user`, 'kill', `-${signal}`, `${pid}`])

/** Why these tests cannot run, as a part of their names; empty when they can. */
export const why_no_sub_ids = await reason()

async function reason(): Promise<string> {
  const skipped = (why: string) => (why === '' ? '' : ` (skipped: ${why})`)
  if (!as_root) {
    const made = await newIsolation(65_535)
    return skipped('lack' in made ? made.lack.finding : '')
  }
  const user = newSubIdUser()
  try {
    const script = 'command -v newuidmap newgidmap || { echo no newuidmap >&2; exit 1; }; unshare --user true'
    const [program, ...words] = [...user.prefix, 'sh', '-c', script]
    const { status, stderr } = spawnSync(program, words, { encoding: 'utf8' })
    return skipped(status === 0 ? '' : stderr.trim())
  } finally {
    user.remove()
  }
}
