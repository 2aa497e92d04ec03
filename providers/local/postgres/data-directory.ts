// A service's data directory: a copy of the template with an identity of its own, made aside and renamed into place
// whole and durable. Once it is in place nothing here touches it again but the removal of the whole service.
import { randomBytes, randomInt } from 'node:crypto'
import { rename } from 'node:fs/promises'
import { dirname } from 'node:path'
import type { WantedService } from '../../provider.ts'
import { ensureArchive } from './archive-settings.ts'
import { copyTree } from '../host/copy-tree.ts'
import { syncOne } from '../../host/sync.ts'
import { chownTree, syncTree } from '../host/tree.ts'
import { ensureFolder, ensureRemoved, type Effect } from '../host/effect.ts'
import { statIfThere } from '../../host/read.ts'
import type { Node } from '../host/layout.ts'
import { readText } from '../host/tenant-files.ts'
import { installationFor, missingExtensionSentence, type PostgresInstallation } from './installation.ts'
import type { Spares } from './spare.ts'
import { newSystemIdentifier, saveSystemIdentifier } from './system-identifier.ts'

/** The folders around the data: ours, but for what PostgreSQL itself writes. */
export async function ensureHome(effect: Effect, node: Node): Promise<void> {
  await ensureNodeHome(effect, node)
  await ensureArchive(effect, node)
}

/** The same without what belongs to the whole service. */
export async function ensureNodeHome(effect: Effect, node: Node): Promise<void> {
  const { owner } = node
  for (const [name, folder] of [
    ['home', node.home],
    ['node home', node.node_home],
  ] as const) {
    await ensureFolder(effect, name, folder, owner ? 0o710 : 0o700, owner && { uid: 0, gid: owner.gid })
  }
  await ensureFolder(effect, 'log folder', node.log, 0o700, owner)
  await ensureFolder(effect, 'socket folder', node.sockets, 0o700, owner)
}

export async function ensureDataDirectory(
  { effect, spares }: { effect: Effect; spares: Spares },
  node: Node,
  template: () => Promise<string>,
): Promise<void> {
  if (await statIfThere(node.data)) return
  try {
    await clone(effect, node, await template(), spares)
  } catch (error) {
    // An interrupted copy gives its space back; any later pass starts anew.
    await ensureRemoved(effect, 'unfinished data directory', node.data_aside)
    throw error
  }
}

/** There were data once, and none are left here, not even some that a copy elsewhere gave back. */
export async function isLost({ data, fetched }: Node, { made }: Pick<WantedService, 'made'>): Promise<boolean> {
  return made === true && !(await statIfThere(data)) && !(await statIfThere(fetched))
}

/** The major version that made this data directory and must run it; undefined when there is no data yet. */
export async function majorOf(node: Node): Promise<number | undefined> {
  const text = readText(node.data, 'PG_VERSION')
  return text === undefined ? undefined : Number(text)
}

/** The installation that runs this data: of the major version that made it, with the extensions; or why there is none, as a sentence. */
export async function installationAt(
  { installations }: { installations: readonly PostgresInstallation[] },
  node: Node,
  { extensions }: Pick<WantedService, 'extensions'>,
): Promise<PostgresInstallation | string> {
  const major = await majorOf(node)
  const fitting = installations.filter((one) => major === undefined || one.major === major)
  if (major !== undefined && fitting.length === 0) {
    return `its data needs PostgreSQL ${major}, which this host no longer has; install it, or name its directory`
  }
  return installationFor(fitting, extensions) ?? missingExtensionSentence(fitting, extensions)
}

/** Moves the service's home aside by one rename, and then removes it. None of its processes may run. */
export async function ensureDataRemoved(effect: Effect, node: Node): Promise<void> {
  await ensureRemoved(effect, 'deleted service', node.home_removed)
  if (await statIfThere(node.home)) {
    await effect('home: rename away')
    await rename(node.home, node.home_removed)
    await ensureRemoved(effect, 'deleted service', node.home_removed)
  }
  await ensureRemoved(effect, 'fetched service', node.fetched)
  await ensureRemoved(effect, 'socket folder', node.sockets)
}

async function clone(effect: Effect, node: Node, template: string, spares: Spares): Promise<void> {
  const aside = node.data_aside
  await ensureRemoved(effect, 'unfinished data directory', aside)
  await effect('data directory: copy template')
  if (!(await spares.take(template, aside))) await copyTree(template, aside)
  await effect('data directory: own identifier')
  const identifier = newSystemIdentifier(Math.floor(Date.now() / 1000), randomInt(2 ** 32))
  await saveSystemIdentifier(aside, identifier, randomBytes(32))
  // Not before: writes to it would follow links of its owner.
  if (node.owner) await chownTree(aside, node.owner)
  await effect('data directory: make durable')
  await syncTree(aside)
  await effect('data directory: rename into place')
  await rename(aside, node.data)
  await Promise.all([syncOne(node.home), syncOne(dirname(node.home))])
}
