// The quickest way to a new primary: the elected replica is promoted while it runs, so that nothing is replayed again, and a relay
// listens at the endpoint for it. Its settings stay those of a replica until its next start, which moves it to the endpoint.
// 1. Only a node that runs with the settings it should have, and has read for whom commits wait, is promoted so.
// 2. Only where no history lies beyond its own: a running server would follow an abandoned timeline.
import type { WantedService } from '../../provider.ts'
import { readIfThere } from '../../host/read.ts'
import { findHaproxyProgram } from '../haproxy/process.ts'
import { nodeAt, type Node } from '../host/layout.ts'
import type { HaHost } from './ha-host.ts'
import { installationAt } from '../postgres/data-directory.ts'
import type { PostgresInstallation } from '../postgres/installation.ts'
import { ensureStopped, findPostmaster, type Hashes, type Postmaster } from '../postgres/process.ts'
import { pausePooler } from '../pooler/pooler.ts'
import { findAge } from '../host/since.ts'
import { findEntry } from '../host/tenant-files.ts'
import { isInNetwork } from '../network/service-network.ts'
import { historyOf } from '../wal/timeline.ts'
import { findPrimary, savePrimary } from '../postgres/primary.ts'
import type { Position } from './quorum.ts'
import { ensureRelayRemoved } from './relay.ts'
import { ensureStandbyFiles } from './standby-server.ts'
import { isStandby } from './standby-data.ts'
import { ownAddressOf, standbySpecOf } from './standby-spec.ts'
import { ensureStandbysRaised } from './standbys.ts'
import { haveReadSign, readLists } from './synchronous.ts'
import { ensureTailTaken } from './wal-tail.ts'

/** By then a server that was told to read its files has done so, also on a busy machine: in all processes but a checkpointer that flushes. */
const read_within_ms = 5_000

/** The node is elected and runs as a standby. `others`: every other node with data, the lost one among them. */
export async function canPromoteInPlace(
  host: HaHost,
  node: Node,
  others: readonly Node[],
  { timeline }: Position,
  wanted: WantedService,
): Promise<boolean> {
  const installation = await installationAt(host, node, wanted)
  if (typeof installation === 'string' || !(await isStandby(node))) return false
  const later = historyOf(timeline + 1)
  const histories = [node, ...others].map(({ data }) => findEntry(data, `pg_wal/${later}`))
  if ([findEntry(node.archive, later), ...histories].some((one) => one !== undefined)) return false
  const stays = await staysInPlace(host, node, wanted, installation)
  return stays !== undefined && stays.postmaster.ready && (await hasRead(node, stays.postmaster, stays.hashes))
}

/** The node where the primary is to run: a relayed primary stays where it runs, or is stopped to move to the endpoint. A sentence while it stops. */
export async function ensureRelayedOrMoved(
  host: HaHost,
  node: Node,
  wanted: WantedService,
  installation: PostgresInstallation,
): Promise<Node | string> {
  if (await staysInPlace(host, node, wanted, installation)) return node
  const { postmaster } = await findPostmaster(node)
  if (postmaster) {
    host.watch.forget(node.service_id)
    await ensureStandbysRaised(host, node, wanted, installation)
    await pausePooler(host, node)
    const waiting_for = await ensureStopped(host.effect, node)
    if (waiting_for !== undefined) return waiting_for
  }
  return await ensureNotRelayed(host, node)
}

/** From its next start on it listens at the endpoint itself. None of its processes may run. */
export async function ensureNotRelayed(host: HaHost, node: Node): Promise<Node> {
  if (node.role !== 'relayed') return node
  await ensureRelayRemoved(host, node)
  if (await isStandby(node)) await ensureTailTaken(host.effect, node, 'all')
  const { relayed: _, ...primary } = await findPrimary(node)
  await savePrimary(host.effect, node, primary, primary)
  return nodeAt(node, node.number, 'primary')
}

type Staying = { postmaster: Postmaster; hashes: Hashes }

/** Defined when its server runs with the settings of a relayed primary, which are those of a replica. */
async function staysInPlace(
  host: HaHost,
  node: Node,
  wanted: WantedService,
  installation: PostgresInstallation,
): Promise<Staying | undefined> {
  if (!ownAddressOf(wanted, node.number) || !(await findHaproxyProgram())) return undefined
  const { postmaster } = await findPostmaster(node)
  if (!postmaster || postmaster.stopping) return undefined
  if (!(await isInNetwork(host, wanted.vpc_id, postmaster.pid))) return undefined
  const hashes = await ensureStandbyFiles(host, standbySpecOf(node, node.number, wanted, installation))
  return postmaster.settings_hash === hashes.settings_hash ? { postmaster, hashes } : undefined
}

/** Whether the server was started with these files, or was told to read them long enough ago. */
async function hasRead(node: Node, postmaster: Postmaster, { files_hash }: Hashes): Promise<boolean> {
  const [pid] = (await readIfThere(node.reloaded))?.split(' ') ?? []
  if (pid !== String(postmaster.pid)) return postmaster.files_hash === files_hash
  const told = `${pid} ${files_hash}`
  if ((await findAge(node.reloaded, haveReadSign(told))) !== undefined) return true
  // Where no commit waits, a checkpointer that does not know this yet makes commits wait for a moment.
  if ((await readLists(node)).some(({ sync_count }) => sync_count > 0)) return false
  return ((await findAge(node.reloaded, told)) ?? 0) > read_within_ms
}
