// A drill: a service's newest snapshot and the WAL after it, or what a copy elsewhere gives back, are brought to life in a node that no
// client reaches, at the lowest priority: it recovers to the end, PostgreSQL's amcheck reads its catalogs and a sample of its tables, and
// it is removed. Meanwhile the files are compared with their checksums. What is wrong is a sentence that names the file.
// No statement reads a tenant's table: to plan one may already run a tenant's function, and sessions here are a superuser's. Rows are
// compared with primary keys, which have no expressions.
import { lchownSync, readFileSync } from 'node:fs'
import { readdir, rename } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { type DrillOptions, Untried } from '../../provider.ts'
import { spawnDaemon } from '../../host/daemon.ts'
import { endsWithin, signalPostmaster } from '../../host/postmaster.ts'
import { messageOf } from '../../host/message.ts'
import { errorCode, statIfThere } from '../../host/read.ts'
import { ownUserName } from '../../host/user-name.ts'
import { noSpaceError } from '../host/disk-space.ts'
import { ensureFile, ensureFolder, ensureRemoved } from '../host/effect.ts'
import { nodeOf, type Node } from '../host/layout.ts'
import type { Machine } from '../host/machine.ts'
import { floorOf, readControl } from '../postgres/control-file.ts'
import { ensureDataRemoved, ensureHome, majorOf } from '../postgres/data-directory.ts'
import type { PostgresInstallation } from '../postgres/installation.ts'
import { findService } from '../postgres/nodes.ts'
import { findPostmaster } from '../postgres/process.ts'
import { identOf } from '../postgres/settings.ts'
import { fatalOfOutput } from '../postgres/start-log.ts'
import { withSuperuser } from '../postgres/superuser.ts'
import type { ClusterCopy } from '../snapshot/cluster-copy.ts'
import { copyData } from '../snapshot/fetched-data.ts'
import { findSnapshot, listComplete, readSnapshot, type Snapshot } from '../snapshot/stored.ts'
import { findWay } from '../snapshot/way.ts'
import { stagedIn } from '../wal/staged-wal.ts'
import { fileIsOnPath, findPath } from '../wal/timeline.ts'
import { isSegment, pgWalOf, segmentNumberOf, walPositionOf } from '../wal/wal.ts'
import { compareSums, overStaged } from './checksums.ts'
import { sumsIn } from './note.ts'
import { corruptionQuery, sample_bytes } from './sample.ts'
import { stageService, type Staged } from './stage.ts'

type DrillHost = Machine & { installations: readonly PostgresInstallation[] }

/** A large database replays for hours at this priority. */
const recovery_ms_max = 6 * 3_600_000
const statement_timeout_ms = 3_600_000
const poll_ms = 50
const stop_ms_max = 10_000
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
  const stop = () => void kill(node)
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
  return valueOf(compared) ?? valueOf(lived)
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
  return (await start(host, node)) ?? (await replayedShort(node, wal_folder)) ?? (await check(node))
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

type Compared = { snapshot_id: string; start_wal_file: string; folder: string; signal: AbortSignal }

async function compareAll(own: Node, { snapshot_id, start_wal_file, folder, signal }: Compared) {
  const isNeeded = (name: string) => walPositionOf(name) >= walPositionOf(start_wal_file)
  const archive = { folder: join(own.backup, 'archive'), sums: sumsIn(own, 'archive') }
  const wal = await overStaged(archive.folder, signal, (either) =>
    compareSums({ ...archive, isNeeded, signal: either }),
  )
  if (wal.differs !== undefined) return `the WAL file ${wal.differs} differs from its checksum`
  if (wal.missing !== undefined) return `the WAL file ${wal.missing} is missing`
  const data = await compareSums({ folder, sums: sumsIn(own, snapshot_id), isNeeded: () => true, signal })
  if (data.differs !== undefined) return `${data.differs} of the snapshot ${snapshot_id} differs from its checksum`
  if (data.missing !== undefined) return `${data.missing} of the snapshot ${snapshot_id} is missing`
  return undefined
}

async function ensureFolders({ effect, directory, as_root }: Machine): Promise<void> {
  const mode = as_root ? 0o711 : 0o700
  for (const below of ['drill', 'drill/services', 'drill/run']) {
    await ensureFolder(effect, 'drill folder', join(directory, below), mode)
  }
}

async function remove({ effect }: Machine, node: Node): Promise<void> {
  if (!(await statIfThere(node.home))) return
  await kill(node)
  await ensureDataRemoved(effect, node)
}

async function kill(node: Node): Promise<void> {
  const { postmaster } = await findPostmaster(node).catch(() => ({ postmaster: undefined }))
  if (postmaster === undefined) return
  await signalPostmaster(node, postmaster.pid, 'SIGQUIT')
  await endsWithin(node, postmaster.pid, stop_ms_max)
}

async function start({ effect, installations }: DrillHost, node: Node): Promise<string | undefined> {
  const major = await majorOf(node)
  const installation = installations.find((one) => one.major === major)
  if (installation === undefined) return `PostgreSQL ${major} is not installed`
  const settings = {
    listen_addresses: '',
    port: node.port,
    unix_socket_directories: `"${node.sockets}"`,
    unix_socket_permissions: '0700',
    hba_file: node.hba,
    ident_file: node.ident,
    ...(await floorOf(node.data)),
    shared_buffers: '32MB',
    autovacuum: 'off',
    fsync: 'off',
    full_page_writes: 'off',
    restart_after_crash: 'off',
    log_timezone: 'UTC',
  }
  const text = Object.entries(settings)
    .map(([name, value]) => `${name} = '${String(value).replaceAll("'", "''")}'\n`)
    .join('')
  await ensureFile(effect, 'settings', node.settings, text, node.owner)
  await ensureFile(effect, 'client rules', node.hba, 'local all postgres peer map=howdah\n', node.owner)
  await ensureFile(effect, 'user map', node.ident, identOf(ownUserName()), node.owner)
  await ensureRemoved(effect, 'start log', node.start_log)
  const words = [join(installation.bin, 'postgres'), '-D', node.data, '-c', `config_file=${node.settings}`]
  const child = await spawnDaemon(
    { command: ['nice', '-n', '19', ...words], ...node.owner },
    { path: node.start_log, flags: 'wx' },
  )
  child.once('error', () => undefined)
  child.unref()
  for (const deadline = performance.now() + recovery_ms_max; performance.now() < deadline; await pause(poll_ms)) {
    if ((await findPostmaster(node)).postmaster?.ready) return undefined
    if (child.pid === undefined || child.exitCode !== null || child.signalCode !== null) {
      const fatal = fatalOfOutput(logOf(node)) ?? 'it was killed'
      if (fatal.includes('No space left on device')) throw noSpaceError(node.home)
      return `PostgreSQL could not recover: ${fatal}`
    }
  }
  return 'the recovery has not ended in time'
}

const logOf = ({ start_log }: Node): string => readFileSync(start_log, 'utf8')

/** WAL that cannot be read ends a recovery as its end does: every archived file but the last must have been passed. */
async function replayedShort(node: Node, wal_folder: string): Promise<string | undefined> {
  const log = logOf(node)
  const [, high = '0', low = '0'] = /redo done at ([0-9A-F]+)\/([0-9A-F]+)/.exec(log) ?? []
  // Without the timeline that it began itself: the path that it was to take.
  const path = (await findPath(node.data, [pgWalOf(node.data)])).slice(0, -1)
  const { segment_bytes: bytes } = await readControl(node.data)
  const names = (await readdir(stagedIn(wal_folder).archive)).filter(isSegment)
  const segments = names.filter((name) => fileIsOnPath(path, name, bytes)).toSorted()
  const last = segments.at(-1)
  if (last === undefined) return undefined
  const end = Math.floor((Number.parseInt(high, 16) * 0x1_0000_0000 + Number.parseInt(low, 16)) / bytes)
  if (end >= segmentNumberOf(last, bytes)) return undefined
  const damaged = segments.find((name) => segmentNumberOf(name, bytes) === end) ?? last
  return `the WAL file ${damaged} is damaged: the recovery ended there`
}

/** Every page of a catalog, and a sample of the others, is read; a page whose checksum is wrong is an error of PostgreSQL's own. */
async function check(node: Node): Promise<string | undefined> {
  const names = await withSuperuser(node, {}, async (client) => {
    const { rows } = await client.query<{ name: string }>(
      'select datname::text as name from pg_catalog.pg_database where datallowconn order by datname',
    )
    return rows.map(({ name }) => name)
  })
  const major = await majorOf(node)
  for (const database of names) {
    const found = await withSuperuser(
      node,
      { database, statement_timeout_ms, ...(major && { major }) },
      async (client) => {
        await client.query('create extension if not exists amcheck schema pg_catalog')
        try {
          const { rows } = await client.query<{ found: string }>(corruptionQuery(sample_bytes))
          return rows[0]?.found
        } catch (error) {
          // XX001, data_corrupted, and XX002, index_corrupted.
          if (!errorCode(error)?.startsWith('XX')) throw error
          return messageOf(error)
        }
      },
    )
    if (found !== undefined) return `database ${database}: ${found}`
  }
  return undefined
}
