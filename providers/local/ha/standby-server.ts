// The server of a standby, on data that is there: it has the files it should have, follows its primary, and listens where it should.
import { highestFloorOf } from '../postgres/control-file.ts'
import { ensureRemoved } from '../host/effect.ts'
import { groupOf } from '../host/layout.ts'
import type { HaHost } from './ha-host.ts'
import { portTrouble } from '../postgres/port.ts'
import { ensureTimelineRemoved } from './promotion.ts'
import { ensureServerFiles } from '../postgres/files.ts'
import {
  ensureKilled,
  ensureReloaded,
  ensureStopped,
  findPostmaster,
  readyPostmaster,
  startPostmaster,
  still_starting,
  type Hashes,
  type Postmaster,
} from '../postgres/process.ts'
import { isInNetwork, networkPrefix } from '../network/service-network.ts'
import { ensureTailTaken } from './wal-tail.ts'
import { ensureStandbySignal, isStandby } from './standby-data.ts'
import { listenedAt, mayLeave, type StandbySpec } from './standby-spec.ts'

/** A ready server that follows, on existing data; a sentence while there is none. `found`: it ran already. */
export async function ensureStandbyRunning(
  host: HaHost,
  spec: StandbySpec,
): Promise<(Postmaster & { found: boolean }) | string> {
  const { effect, limits } = host
  const { listen, installation } = spec
  const node = listenedAt(spec)
  // A server that takes itself for a primary, and is not, is killed at once.
  if (!(await isStandby(node))) await ensureKilled(effect, node)
  await ensureStandbySignal(effect, node)
  await host.projects?.lift(node)
  const hashes = await ensureStandbyFiles(host, spec)
  const { postmaster, died } = await findPostmaster(node)
  if (postmaster) await ensureRemoved(effect, 'WAL of the lost primary', node.tail)
  else await ensureTailTaken(effect, node, 'lost')
  const in_network = postmaster !== undefined && (await isInNetwork(host, spec.vpc_id, postmaster.pid))
  if (postmaster && postmaster.settings_hash === hashes.settings_hash && in_network && !postmaster.stopping) {
    const ready = postmaster.ready ? postmaster : await readyPostmaster(node)
    if (ready) await ensureReloaded(effect, node, ready, hashes.files_hash)
    return ready ? { ...ready, found: postmaster.ready } : still_starting
  }
  if (postmaster) {
    if (postmaster.ready && !(await mayLeave(spec))) return { ...postmaster, found: true }
    const waiting_for = await ensureStopped(effect, node)
    if (waiting_for !== undefined) return waiting_for
  }
  const taken = listen && (await portTrouble(listen, spec.vpc_id, 'a replica'))
  if (taken !== undefined) return taken
  await ensureTimelineRemoved(effect, node)
  // A start is a burst of work; the limits of its size are set right after.
  await effect('limits: set')
  await limits.ensure(groupOf(node), 'starting')
  const network_prefix = networkPrefix(host, spec.vpc_id)
  const start = { ...hashes, bin: installation.bin, network_prefix }
  const started = await startPostmaster(effect, node, { ...start, limits, died })
  return typeof started === 'string' ? started : { ...started, found: false }
}

export async function ensureStandbyFiles(host: HaHost, spec: StandbySpec): Promise<Hashes> {
  const { primary, name, slot, size, extensions, listen: endpoint, installation } = spec
  const node = listenedAt(spec)
  // Its primary may have grown since the WAL that was replayed here: replay pauses at a value that is higher than the standby's own.
  const floor = await highestFloorOf([node.data, primary.data])
  const following = { primary, name, slot }
  return await ensureServerFiles(host, installation, { size, extensions, endpoint, node, following, floor })
}
