// To which service a process belongs whose user two installations, or a service and its replica sets, may share: by its control
// group, or by the home that it works in or was started with. Its own arguments count only where root has made the
// home that they name for that user, so a process cannot pass for one of another installation by a folder of its own making.
import { lstatSync, realpathSync } from 'node:fs'
import { join } from 'node:path'
import { folderOf, groupsTextOf, wordsOf, type HostProcess } from '../../host/process.ts'
import type { Node } from './layout.ts'

/** A tenant's code is started with any words, megabytes of them; ours name the home among the first, once. */
const words_max = 32
const path_characters_max = 4_096
const homes_max = 4

/** The id of a service or replica set of this installation; `elsewhere`: another installation's; undefined: unknown. */
export function homeOf(
  { directory, installation_id }: { directory: string; installation_id: string },
  node: Node,
  process: HostProcess,
): string | undefined {
  const [, installation, group = ''] = /\/howdah-([a-z0-9-]+)\/([a-z0-9-]+)/.exec(groupsTextOf(process)) ?? []
  if (installation !== undefined) {
    return installation === installation_id ? group.replace(/-(\d+|pooler|balancer|relay)$/, '') : 'elsewhere'
  }
  const own = join(realpathOf(directory) ?? directory, 'services', '/')
  for (const named of [folderOf(process), ...wordsOf(process).slice(0, words_max)].flatMap(homesIn)) {
    const home = realpathOf(named)
    if (home === undefined || !isMadeFor(home, node)) continue
    return home.startsWith(own) ? home.slice(own.length).replace(/\.gone$/, '') : 'elsewhere'
  }
  return undefined
}

/** Whether a process with this working directory works on the data of one of the service's nodes. */
export function isIn({ home, home_removed }: Node, folder: string): boolean {
  const below = [home, home_removed].find((path) => folder.startsWith(`${path}/`))
  return below !== undefined && /^(node-\d+\/)?data(\.gone)?([ /]|$)/.test(folder.slice(below.length + 1))
}

/** Paths in an argument that may be a home: `config_file=/srv/howdah/local/services/abc/howdah.conf`. */
function homesIn(word: string): string[] {
  const path = word.slice(Math.max(0, word.indexOf('/')), path_characters_max)
  const ends = [...path.matchAll(/\/services\/[a-z0-9]+(\.gone)?(?=\/|$)/g)].map(
    ({ index, 0: end }) => index + end.length,
  )
  return ends.slice(0, homes_max).map((end) => path.slice(0, end))
}

/** Homes are root's, with the group of their service's user. */
function isMadeFor(home: string, { owner }: Node): boolean {
  const stats = lstatSync(home, { throwIfNoEntry: false })
  return stats !== undefined && stats.isDirectory() && stats.uid === 0 && stats.gid === owner?.gid
}

function realpathOf(path: string): string | undefined {
  try {
    return realpathSync(path)
  } catch {
    return undefined
  }
}
