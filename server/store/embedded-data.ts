// The data directory of the embedded metadata store: made aside by initdb, handed to its user, renamed into place.
// A kill at any moment leaves either no data directory or a whole one; the next start removes unfinished ones.
import { execFile } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { chmod, chown, lchown, mkdir, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { identityOf } from '#providers/host/process.ts'
import { statIfThere } from '#providers/host/read.ts'
import { syncOne } from '#providers/host/sync.ts'
import { unprivileged, type Owner } from '#providers/host/user-map.ts'
import { ownUserName } from '#providers/host/user-name.ts'

type Parts = { directory: string; data: string; bin: string; owner: Owner | undefined }

const aside_prefix = 'new-'

export async function ensureStoreData(parts: Parts): Promise<void> {
  await refuseOtherOwner(parts)
  const made_by = await readFile(join(parts.data, 'PG_VERSION'), 'utf8').catch(() => undefined)
  if (made_by === undefined) await makeStoreData(parts)
  else await refuseOtherVersion(parts, made_by.trim())
  await removeLeftAside(parts.directory)
}

async function makeStoreData({ directory, data, bin, owner }: Parts): Promise<void> {
  const user = ownUserName()
  const aside = join(directory, `${aside_prefix}${makerOf(process.pid)}-${randomUUID()}`)
  const fresh = join(aside, 'data')
  await mkdir(aside, { mode: 0o700 })
  await mkdir(fresh, { mode: 0o700 })
  if (owner) {
    await chmod(aside, 0o711)
    await chown(fresh, unprivileged.uid, unprivileged.gid)
  }
  const options = ['-U', 'postgres', '-A', 'peer', '-E', 'UTF8', '--locale-provider=builtin', '--locale=C.UTF-8']
  // What a killed initdb leaves of its memory goes with the folder.
  const settings = ['-c', 'dynamic_shared_memory_type=mmap']
  await promisify(execFile)(join(bin, 'initdb'), ['-D', fresh, ...options, ...settings], {
    ...(owner && unprivileged),
    env: {},
    cwd: '/',
  })
  // The server's own from here on, so that no other user can plant a link where it writes.
  if (owner) await chown(fresh, 0, 0)
  await writeFile(join(fresh, 'pg_hba.conf'), 'local all postgres peer map=howdah\n', { flush: true })
  await writeFile(join(fresh, 'pg_ident.conf'), `howdah ${quoted(user)} postgres\n`, { flush: true })
  if (owner) await handOver(fresh, owner)
  // A folder that is not empty is never replaced: of several servers that start at once, the first one wins.
  await rename(fresh, data).catch((error: NodeJS.ErrnoException) => {
    if (error.code !== 'ENOTEMPTY' && error.code !== 'EEXIST') throw error
  })
  await syncOne(directory)
  await rm(aside, { recursive: true, force: true })
}

const quoted = (name: string) => `"${name.replaceAll('"', '""')}"`

async function handOver(folder: string, owner: Owner): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true }))
    await lchown(join(folder, entry), owner.uid, owner.gid)
  await chown(folder, owner.uid, owner.gid)
}

/** As after `cp -r`: PostgreSQL would be started again and again, and say of a file of its own that it may not read it. */
async function refuseOtherOwner({ data, owner }: Parts): Promise<void> {
  const [found, uid] = [await statIfThere(data), owner?.uid ?? process.getuid?.()]
  if (found === undefined || found.uid === uid) return
  throw new Error(
    `the metadata store in ${data} belongs to the user ${found.uid} and not to ${uid}; copy the data directory again with its owners and modes (cp -a)`,
  )
}

async function refuseOtherVersion({ data, bin }: Parts, made_by: string): Promise<void> {
  const { stdout } = await promisify(execFile)(join(bin, 'postgres'), ['--version'], { env: {} })
  const major = /\s(\d+)/.exec(stdout)?.[1]
  if (major === made_by) return
  throw new Error(
    `the metadata store in ${data} was made by PostgreSQL ${made_by} and this installation carries ${major}; start the version of Howdah that made it, or move its contents with pg_dump to a PostgreSQL of your own and name that in DATABASE_URL`,
  )
}

/** What killed servers left. A folder whose maker still runs is spared. */
async function removeLeftAside(directory: string): Promise<void> {
  for (const name of await readdir(directory)) {
    const [maker, pid] = new RegExp(`^${aside_prefix}((\\d+)-\\w+)`).exec(name)?.slice(1) ?? []
    if (maker === undefined || maker === makerOf(Number(pid))) continue
    await rm(join(directory, name), { recursive: true, force: true })
  }
}

/** Differs from that of every other process that ever had its number. */
const makerOf = (pid: number) => identityOf(pid).replace('/', '-')
