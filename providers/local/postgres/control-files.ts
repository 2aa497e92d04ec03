// Control files of our own, which PostgreSQL finds before those of its installation: an extension that is offered to tenants is
// trusted there, and a refused extension has a script that raises the reason.
// 1. The folder is named after its contents and renamed into place whole: it never changes, and running servers may go on to
//    read that of an earlier version. Only its owner, who runs the control plane, can write there.
// 2. A refusal is a control file without scripts of the extension beside it. That is safe only where PostgreSQL searches scripts
//    in the folder of the control file and nowhere else: from 18 on.
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { makeWhole, removeUnfinished } from '../host/aside.ts'
import { ensureFolder, ensureRemoved, type Effect } from '../host/effect.ts'
import { foldersOf } from '../host/layout.ts'
import { isDiskFull, readIfThere } from '../../host/read.ts'
import { extensionDirectoryOf, type PostgresInstallation } from './installation.ts'
import { refused_extensions, tenant_extensions } from '../../postgres/tenant-extensions.ts'

/** From this version on a setting names folders of control files. */
const first_major_with_path = 18
const ask_timeout_ms = 30_000

/** The settings by which a server of this installation finds the control files; none where it has no such setting. */
export async function ensureControlFiles(
  effect: Effect,
  directory: string,
  installation: PostgresInstallation,
  uid: number | undefined,
): Promise<Record<string, string>> {
  const from = extensionDirectoryOf(installation.bin, installation.major)
  // The paths in the setting are separated by colons.
  if (from === undefined || directory.includes(':')) return {}
  const has_path = installation.major >= first_major_with_path
  if (!has_path && !(await hasDestination(installation.bin, uid))) return {}
  const files = new Map([...(await offeredFiles(from)), ...(has_path ? refusalFiles(installation.extensions) : [])])
  const folder = join(foldersOf(directory).extensions, `${installation.major}-${hashOf(files)}`)
  // Debian's setting is put before the whole path of each file.
  const inside = has_path ? 'extension' : from
  await ensureMade(effect, folder, inside, files).catch((error: unknown) => {
    // A server starts on a full disk too. PostgreSQL skips a missing folder, and the next start makes it.
    if (!isDiskFull(error)) throw error
  })
  return has_path ? { extension_control_path: `${folder}:$system` } : { extension_destdir: folder }
}

/** Debian's builds before 18 have a setting of their own for it. It is empty unless it is set. */
async function hasDestination(bin: string, uid: number | undefined): Promise<boolean> {
  const user = uid === undefined ? {} : { uid, gid: uid }
  const words = ['-C', 'extension_destdir', '-D', '/', '-c', 'config_file=/dev/null']
  const options = { ...user, env: {}, cwd: '/', timeout: ask_timeout_ms }
  return await promisify(execFile)(join(bin, 'postgres'), words, options).then(
    ({ stdout }) => stdout.trim() === '',
    () => false,
  )
}

/** Those of the installation, with one line more, and all their scripts. */
async function offeredFiles(from: string): Promise<[string, string][]> {
  const names = await readdir(from)
  const offered = tenant_extensions.filter((extension) => names.includes(`${extension}.control`))
  const own = names.filter((name) => offered.some((extension) => name.startsWith(`${extension}--`)))
  const scripts = own.map(async (name): Promise<[string, string]> => [name, await readFile(join(from, name), 'utf8')])
  const controls = offered.map(async (extension): Promise<[string, string]> => {
    const name = `${extension}.control`
    return [name, `${await readFile(join(from, name), 'utf8')}\ntrusted = true\n`]
  })
  return await Promise.all([...controls, ...scripts])
}

function refusalFiles(available: ReadonlySet<string>): [string, string][] {
  const refused = Object.entries(refused_extensions).filter(([extension]) => available.has(extension))
  return refused.flatMap(([extension, reason]) => [
    [`${extension}.control`, `comment = 'not offered: ${reason}'\ndefault_version = 'refused'\ntrusted = true\n`],
    [`${extension}--refused.sql`, refusalSql(extension, reason)],
  ])
}

/** It refers to no name that a search path would resolve. */
const refusalSql = (extension: string, reason: string) =>
  `do language plpgsql $refusal$ begin
  raise insufficient_privilege using message = 'permission denied to create extension "${extension}": ${reason}';
end $refusal$;
`

async function ensureMade(effect: Effect, folder: string, inside: string, files: ReadonlyMap<string, string>) {
  await ensureFolder(effect, 'control files folder', dirname(folder), 0o755)
  await removeUnfinished(effect, dirname(folder))
  if (await isWhole(join(folder, inside), files)) return
  // An unfinished folder, after a loss of power.
  await ensureRemoved(effect, 'control files', folder)
  await makeWhole(effect, 'control files', folder, async (aside) => {
    await effect('control files: make')
    for (const path of pathsDownTo(join(aside, inside))) {
      if (!path.startsWith(aside)) continue
      await mkdir(path)
      await chmod(path, 0o755)
    }
    for (const [name, text] of files) {
      await writeFile(join(aside, inside, name), text)
      await chmod(join(aside, inside, name), 0o644)
    }
  })
}

async function isWhole(folder: string, files: ReadonlyMap<string, string>): Promise<boolean> {
  const same = await Promise.all(
    [...files].map(async ([name, text]) => (await readIfThere(join(folder, name))) === text),
  )
  return !same.includes(false)
}

const pathsDownTo = (path: string): string[] => (path === '/' ? [] : [...pathsDownTo(dirname(path)), path])

function hashOf(files: ReadonlyMap<string, string>): string {
  const sorted = [...files].toSorted(([one], [other]) => (one < other ? -1 : 1))
  return createHash('sha256').update(JSON.stringify(sorted)).digest('hex').slice(0, 12)
}
