// A drill: a service's newest snapshot and the WAL after it, or what a copy elsewhere gives back, are brought to life in a node that no
// client reaches, at the lowest priority: it recovers to the end, PostgreSQL's amcheck reads its catalogs and a sample of its tables, and
// it is removed. Meanwhile the files are compared with their checksums. What is wrong is a sentence that names the file.
// No statement reads a tenant's table: to plan one may already run a tenant's function, and sessions here are a superuser's. Rows are
// compared with primary keys, which have no expressions.
import { lchownSync } from 'node:fs'
import { readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { type DrillOptions, Untried } from '../../provider.ts'
import { messageOf } from '../../host/message.ts'
import { statIfThere } from '../../host/read.ts'
import { ensureFolder } from '../host/effect.ts'
import { nodeOf, type Node } from '../host/layout.ts'
import type { Machine } from '../host/machine.ts'
import { ensureDataRemoved, ensureHome } from '../postgres/data-directory.ts'
import { findService } from '../postgres/nodes.ts'
import type { ClusterCopy } from '../snapshot/cluster-copy.ts'
import { copyData } from '../snapshot/fetched-data.ts'
import { findSnapshot, listComplete, readSnapshot, type Snapshot } from '../snapshot/stored.ts'
import { findWay } from '../snapshot/way.ts'
import { checkDatabases, compareAll, replayedShort } from './drill-checks.ts'
import { killDrill, startDrill, type DrillHost } from './drill-server.ts'
import { stageService, type Staged } from './stage.ts'

/** A service may keep one snapshot only, and take the next one while the drill reads it. */
const attempts_max = 3
/** Of its socket alone: it listens nowhere else. */
const any_port = 5432

/** A sentence: why the service could not be restored. Undefined: it could. */
export async function drillService(
  host: DrillHost,
  service_id: string,
  drilling: Drilling,
): Promise<string | undefined> {
  const { directory, as_root } = host
  const { signal } = drilling
  const own = await findService(directory, service_id, as_root)
  if (own === undefined || !(await statIfThere(own.data))) return 'it has no data here'
  await ensureFolders(host)
  await removeOthers(host)
  const node = { ...nodeOf(join(directory, 'drill'), service_id, own.port || any_port, as_root), owner: own.owner }
  // Whatever it is doing then, it fails and is removed.
  const stop = () => void killDrill(node)
  signal.addEventListener('abort', stop)
  try {
    return await tryOut(host, own, node, drilling)
  } finally {
    signal.removeEventListener('abort', stop)
    await remove(host, node)
  }
}

type Drilling = DrillOptions & { staged: Staged }

async function tryOut(host: DrillHost, own: Node, node: Node, drilling: Drilling): Promise<string | undefined> {
  for (let attempt = 1; attempt <= attempts_max; attempt += 1) {
    await remove(host, node)
    const { leadsOn } = await findWay(own)
    const snapshot = (await listComplete(own)).findLast(leadsOn)
    if (snapshot === undefined) return 'it has no snapshot from which it could be restored'
    const [end] = await Promise.allSettled([tryOutFrom(host, { own, node, snapshot }, drilling)])
    const is_proven = end.status === 'fulfilled' && end.value === undefined
    if (is_proven || drilling.signal.aborted || (await findSnapshot(own, snapshot.snapshot_id))) return valueOf(end)
    // The WAL before the next snapshot was removed with it, so a file that was missing proves nothing.
  }
  throw new Untried('its snapshots were removed faster than they could be read')
}

type Trial = { own: Node; node: Node; snapshot: Snapshot }

async function tryOutFrom(host: DrillHost, { own, node, snapshot }: Trial, drilling: Drilling) {
  const since = new Date()
  await stageService(host, own, drilling.staged).catch((error: unknown) => {
    throw new Untried(`its WAL could not be made ready: ${messageOf(error)}`)
  })
  const of_snapshot = { ...snapshot, folder: join(own.snapshots, snapshot.snapshot_id) }
  // Both take long. What is damaged here is told, whatever became of the node.
  const [compared, lived] = await Promise.allSettled([
    compareAll(own, { ...of_snapshot, signal: drilling.signal }),
    bringToLife(host, { own, node, snapshot: of_snapshot, since }, drilling),
  ])
  // A finding of one stands, whatever kept the other from its end.
  const finding = [compared, lived].find((end) => end.status === 'fulfilled' && end.value !== undefined)
  return valueOf(finding ?? (compared.status === 'rejected' ? compared : lived))
}

type Life = { own: Node; node: Node; snapshot: ClusterCopy & { folder: string }; since: Date }

/** From the copy elsewhere, where there is one: as it is when all that was committed before `since` has reached it. */
async function bringToLife(
  host: DrillHost,
  { own, node, snapshot, since }: Life,
  { signal, fetch }: Drilling,
): Promise<string | undefined> {
  const fetched = await fetch?.(since)
  signal.throwIfAborted()
  const where = fetched === undefined ? '' : ' in the backup'
  const wal_folder = fetched?.wal_folder ?? own.backup
  const folder = fetched?.snapshot_folder ?? snapshot.folder
  const facts = fetched === undefined ? snapshot : await readSnapshot(folder)
  if (facts === undefined) return `the snapshot ${fetched?.snapshot_id}${where} is not whole`
  await ensureHome(host.effect, node)
  const is_spare = fetched !== undefined
  const source = { facts, snapshot_data: join(folder, 'data'), is_spare, wal_folder, keep: true, signal }
  const gap = await copyData(host, node, source)
  if (gap !== undefined) return `the WAL file ${gap}${where} is missing`
  // Not durable: whatever is there after a crash is removed.
  if (node.owner) lchownSync(node.data_aside, node.owner.uid, node.owner.gid)
  await host.effect('drill: rename into place')
  await rename(node.data_aside, node.data)
  signal.throwIfAborted()
  return (await startDrill(host, node)) ?? (await replayedShort(node, wal_folder)) ?? (await checkDatabases(node))
}

function valueOf<T>(settled: PromiseSettledResult<T>): T {
  if (settled.status === 'rejected') throw settled.reason
  return settled.value
}

/** Of services that are no more; their drills were killed. */
async function removeOthers(host: DrillHost): Promise<void> {
  const drills = join(host.directory, 'drill')
  for (const name of await readdir(join(drills, 'services'))) {
    const left = await findService(drills, name, host.as_root)
    if (left && !(await findService(host.directory, name, host.as_root))) await remove(host, left)
  }
}

async function ensureFolders({ effect, directory, as_root }: Machine): Promise<void> {
  const mode = as_root ? 0o711 : 0o700
  for (const below of ['drill', 'drill/services', 'drill/run']) {
    await ensureFolder(effect, 'drill folder', join(directory, below), mode)
  }
}

async function remove({ effect }: Machine, node: Node): Promise<void> {
  if (!(await statIfThere(node.home))) return
  await killDrill(node)
  await ensureDataRemoved(effect, node)
}
