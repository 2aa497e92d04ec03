// An exchange of the data of a service: they give way to those of another moment, of the service itself or of the parent of a fork.
// Endpoint, id and master password stay; every connection is cut once.
// 1. The data is made ready beside the running service. From then on little is left to do, and none of it can fail for a reason of
//    the data: a stop, a few renames, a start.
// 2. One file decides. Before it says `moving` nothing of the service has changed; afterwards every pass first does what is left.
// 3. No replica of the former data is left that could be elected: they are moved aside before the primary's data is exchanged.
// 4. The data goes on on a timeline that the service never had. Its WAL until the exchange is complete in the archive, so that every
//    moment before can still be restored as it was.
import { rename } from 'node:fs/promises'
import { basename, join } from 'node:path'
import type { ObservedEvent, ObservedService, WantedExchange, WantedService } from '../../provider.ts'
import { statIfThere } from '../../host/read.ts'
import { segmentNumberAt } from '../../postgres/lsn.ts'
import { ensureNotRelayed } from '../ha/in-place.ts'
import { ensureNodesStopped } from '../ha/nodes.ts'
import { ensureDataMovedAside } from '../ha/standby-data.ts'
import { textOf } from '../ha/synchronous.ts'
import { ensureFile, ensureFolder } from '../host/effect.ts'
import { preparedOf, type Node } from '../host/layout.ts'
import { findEntry, listNames, readBytes, replaceFile } from '../host/tenant-files.ts'
import { syncOne } from '../../host/sync.ts'
import { pausePooler } from '../pooler/pooler.ts'
import { findPooler, poolerGroupOf } from '../pooler/process.ts'
import { readControl } from '../postgres/control-file.ts'
import { isLost } from '../postgres/data-directory.ts'
import { listNodes } from '../postgres/nodes.ts'
import { findLeader } from '../postgres/primary.ts'
import { findPostmaster } from '../postgres/process.ts'
import { listComplete } from '../snapshot/stored.ts'
import { readExchange, saveExchange, type Exchange, type Left } from '../wal/left.ts'
import { findPath, onPath, type Path } from '../wal/timeline.ts'
import { archiveAt, isHistory, listSegments, newestTimeline, pgWalOf, timelineOf } from '../wal/wal.ts'
import { ensurePrepared, ensurePreparedRemoved, ensurePreparedTaken } from './prepared.ts'
import type { ServiceHost } from './service-host.ts'

/** `waiting_for`: it is not done yet. `stopped`: no server may start until it is. */
type ObservedExchange = {
  events: readonly ObservedEvent[]
  waiting_for?: string
  look_again_seconds?: number
  stopped?: true
  /** The id of an exchange that can never be made. */
  refused?: string
}

const look_again_soon_seconds = 0.3

/** The first step of a pass: the rest of it works on the data that is in force afterwards. */
export async function withExchange(
  host: ServiceHost,
  base: Node,
  wanted: WantedService,
  rest: () => Promise<ObservedService>,
): Promise<ObservedService> {
  const { events, stopped, refused, ...exchange } = await ensureExchanged(host, base, wanted)
  const pending = { ...exchange, settled: false, in_progress: true }
  if (stopped) return { ...pending, state: 'not_serving', events, snapshots: [] }
  const observed = await rest()
  const all = { ...observed, ...(refused && { exchange_refused: refused }), events: [...events, ...observed.events] }
  return exchange.waiting_for === undefined || !observed.settled ? all : { ...all, ...pending }
}

async function ensureExchanged(host: ServiceHost, base: Node, wanted: WantedService): Promise<ObservedExchange> {
  const last = await readExchange(base)
  if (last?.state === 'moving') return await move(host, await findLeader(base), last)
  const { exchange } = wanted
  if (exchange === undefined || last?.exchange_id === exchange.exchange_id) {
    // A fork that is masked has no data of its own yet.
    if (await statIfThere((await findLeader(base)).data)) await ensurePreparedRemoved(host, base)
    return { events: [], ...(last?.state === 'refused' && { refused: last.exchange_id }) }
  }
  if (wanted.power === 'off') return { events: [] }
  if (await statIfThere(base.before)) return waitingFor('the state before the last rewind is still being kept')
  const node = await findLeader(base)
  // The rest of the pass tells the loss.
  if (await isLost(node, wanted)) return { events: [] }
  const of_other = exchange.source.service_id !== wanted.service_id
  const preparation = { id: exchange.exchange_id, source: exchange.source, mask: of_other ? wanted.mask : undefined }
  const { waiting_for, failed, look_again_seconds } = (await ensurePrepared(host, node, wanted, preparation)) ?? {}
  if (waiting_for === undefined) return await stopAndMove(host, node, exchange)
  if (!failed) return { ...waitingFor(waiting_for), ...(look_again_seconds && { look_again_seconds }) }
  await saveExchange(host.effect, node, { left: [], ...last, exchange_id: exchange.exchange_id, state: 'refused' })
  await ensurePreparedRemoved(host, node)
  const message = `its data stays as it is: ${waiting_for}`
  return { events: [{ kind: 'setback', message }], refused: exchange.exchange_id }
}

const waitingFor = (waiting_for: string): ObservedExchange => ({
  waiting_for,
  look_again_seconds: look_again_soon_seconds,
  events: [],
})

async function stopAndMove(host: ServiceHost, node: Node, exchange: WantedExchange): Promise<ObservedExchange> {
  const { effect } = host
  const { postmaster } = await findPostmaster(node)
  const is_stopping = postmaster !== undefined && (await statIfThere(node.stopping)) !== undefined
  // A server that died recovers first, or is replaced.
  const can_stop = postmaster?.ready || is_stopping || (!postmaster && (await readControl(node.data)).clean)
  if (!can_stop) return waitingFor('its server is not ready yet for the exchange of its data')
  const path = await findPath(node.data, [pgWalOf(node.data), archiveAt(node.archive)])
  if (exchange.kept_as !== undefined && (await isTimelineTaken(node, path))) {
    await ensurePreparedRemoved(host, node)
    return waitingFor('its primary has changed meanwhile; the data of the moment is made ready again')
  }
  host.watch.forget(node.service_id)
  await host.jobs.end(node.service_id)
  if (postmaster && !is_stopping) await pausePooler(host, node)
  const stopping = await ensureServersStopped(host, node)
  if (stopping !== undefined) return { ...waitingFor(stopping), stopped: true }
  if (!(await readControl(node.data)).clean) return waitingFor('its server did not stop cleanly and is started again')
  const { kept_as, exchange_id } = exchange
  const left = kept_as === undefined ? [] : await leftBy(node, path)
  const decided: Exchange = { exchange_id, state: 'moving', left, ...(kept_as !== undefined && { kept_as }) }
  await saveExchange(effect, node, decided)
  return await move(host, node, decided)
}

/** The pooler goes on, so that its clients wait. */
async function ensureServersStopped(host: ServiceHost, node: Node): Promise<string | undefined> {
  const { pid } = await findPooler(node)
  return await ensureNodesStopped(host, node, 'service', { group: poolerGroupOf(node), pid })
}

/** A failover may have begun the timeline that the ready data is on. */
async function isTimelineTaken(node: Node, path: Path): Promise<boolean> {
  const { timeline } = await readControl(preparedOf(node).data)
  const archived = (await listNames(node.archive)).filter(isHistory)
  return newestTimeline(path.at(-1)?.timeline ?? 0, archived) >= timeline
}

/** All of its commits are before now, and all of the data that follows are after it. Those before the first snapshot tell nothing. */
async function leftBy(node: Node, path: Path): Promise<Left[]> {
  const { left = [] } = (await readExchange(node)) ?? {}
  const oldest = (await listComplete(node))[0]?.taken_at ?? new Date()
  const timeline = path.at(-1)?.timeline ?? 1
  return [...left.filter(({ until }) => new Date(until) >= oldest), { timeline, until: new Date().toISOString() }]
}

/** What is left of a decided exchange, from wherever it was killed. */
async function move(host: ServiceHost, found: Node, exchange: Exchange): Promise<ObservedExchange> {
  const { effect } = host
  const stopping = await ensureServersStopped(host, found)
  if (stopping !== undefined) return { ...waitingFor(stopping), stopped: true }
  const node = await ensureNotRelayed(host, found)
  const [, ...others] = await listNodes(node)
  for (const other of others) await ensureDataMovedAside(effect, other)
  await ensureFile(effect, 'synchronous replicas', node.synchronous, textOf([]), node.owner)
  if (await statIfThere(preparedOf(node).data)) {
    if (await statIfThere(node.data)) await setAside(host, node, exchange)
    await ensurePreparedTaken(effect, node)
  }
  host.roles_observed.delete(node.service_id)
  host.pruned_up_to.delete(node.service_id)
  await saveExchange(effect, node, { ...exchange, state: 'done' })
  await ensurePreparedRemoved(host, node)
  const until = exchange.left.at(-1)?.until
  const message =
    exchange.kept_as === undefined
      ? 'its data is that of its parent'
      : `its data is that of the moment; until ${until} it was another, which snapshot ${exchange.kept_as} keeps`
  return { events: [{ kind: 'rewound', message }] }
}

async function setAside(host: ServiceHost, node: Node, { kept_as }: Exchange): Promise<void> {
  const { effect } = host
  await ensureFolder(effect, 'data before', node.before, 0o700)
  if (kept_as === undefined) await moveHistory(host, node)
  else await ensureAllArchived(host, node)
  await effect('data before: rename away')
  await rename(node.data, join(node.before, 'data'))
  await syncOne(node.node_home)
}

/** With its last file, which PostgreSQL does not archive: it begins at the checkpoint with which the server stopped. */
async function ensureAllArchived({ effect }: ServiceHost, node: Node): Promise<void> {
  const pg_wal = pgWalOf(node.data)
  const path = await findPath(node.data, [pg_wal, archiveAt(node.archive)])
  const { timeline, redo, segment_bytes } = await readControl(node.data)
  for (const { name, number, bytes } of onPath(await listSegments(pg_wal), path)) {
    const is_used = timelineOf(name) === timeline && number <= segmentNumberAt(redo, segment_bytes)
    if (!is_used || findEntry(node.archive, name)) continue
    const content = readBytes(node.data, `pg_wal/${name}`, bytes)
    await effect('data before: archive WAL')
    if (content) await replaceFile(node.archive, name, content, { owner: node.owner, durable: true })
  }
}

/** Archive and snapshots of the data of before go with it: the data that follows has no moment in common with them. */
async function moveHistory({ effect }: ServiceHost, node: Node): Promise<void> {
  for (const folder of [node.archive, node.snapshots, node.backup]) {
    const aside = join(node.before, basename(folder))
    if (!(await statIfThere(folder)) || (await statIfThere(aside))) continue
    await effect('history before: rename away')
    await rename(folder, aside)
  }
  await ensureFolder(effect, 'archive', node.archive, 0o700, node.owner)
}
