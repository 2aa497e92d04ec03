// The settings by which a server archives its WAL, and the folder that it archives into.
import { join } from 'node:path'
import { ensureFolder, type Effect } from '../host/effect.ts'
import type { Node } from '../host/layout.ts'
import { statIfThere } from '../../host/read.ts'

export async function ensureArchive(effect: Effect, node: Node): Promise<void> {
  await ensureFolder(effect, 'archive', node.archive, 0o700, node.owner)
}

/** With the module that PostgreSQL brings along, where it is installed; else by commands that leave whole files only. */
export function archiveSettings({ archive }: Node, has_module: boolean): Record<string, string> {
  if (has_module) {
    return { archive_mode: 'on', archive_library: 'basic_archive', 'basic_archive.archive_directory': archive }
  }
  const [target, aside] = [shellPath(`${archive}/%f`), shellPath(`${archive}/%f.new`)]
  // Repeated after a crash, the file may exist already: the same content counts as success.
  const whole = `cp "%p" ${aside} && sync ${aside} && mv -n ${aside} ${target}`
  return { archive_mode: 'on', archive_command: `cmp -s "%p" ${target} || { test ! -e ${target} && ${whole}; }` }
}

/** Whether the installation has the module; its libraries are in one of two folders relative to its programs. */
export async function hasArchiveModule(bin: string): Promise<boolean> {
  const names = ['lib/basic_archive.so', 'lib/postgresql/basic_archive.so']
  const found = await Promise.all(names.map((name) => statIfThere(join(bin, '..', name))))
  return found.some((stats) => stats !== undefined)
}

/** In single quotes for a shell; a percent sign is PostgreSQL's own, but for %f. */
export function shellPath(path: string): string {
  const escaped = path.replaceAll('%', '%%').replaceAll(/%%f(?=$|\.new$)/g, '%f')
  return `'${escaped.replaceAll("'", `'\\''`)}'`
}
