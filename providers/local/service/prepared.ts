// Data for a service that is made ready before it takes the place of the service's own: a moment is copied as for a fork, and where
// WAL has to be replayed or a mask to be run, a server of its own does so, which listens nowhere and is stopped cleanly again.
// The service itself goes on meanwhile, and a failure costs it nothing.
// 1. Ready data is named by the id of its exchange or fork: data that was made for another is removed.
// 2. A mask that did not end is never continued: the copy is made anew. That it began is on the disk before its first statement.
import { rename } from 'node:fs/promises'
import { join } from 'node:path'
import type { ServiceSource, WantedService } from '../../provider.ts'
import { readIfThere, statIfThere } from '../../host/read.ts'
import { ensureFile, ensureRemoved, type Effect, replaceDurably } from '../host/effect.ts'
import { groupOf, preparedOf, type Node } from '../host/layout.ts'
import { findEntry, listNames, readBytes, replaceFile } from '../host/tenant-files.ts'
import { syncOne } from '../../host/sync.ts'
import { hostsOf } from '../network/service-network.ts'
import { ensureCertificate } from '../postgres/certificate.ts'
import { floorOf } from '../postgres/control-file.ts'
import { ensureHome, installationAt } from '../postgres/data-directory.ts'
import { ensureServerFiles } from '../postgres/files.ts'
import {
  ensureKilled,
  ensureStopped,
  findPostmaster,
  readyPostmaster,
  startPostmaster,
  still_starting,
} from '../postgres/process.ts'
import { ensureForked, failedFor, type ObservedFork } from '../snapshot/fork.ts'
import { isWal, wal_file_bytes_max } from '../wal/wal.ts'
import { ensureReplayable, ensureReplayRemoved, saveFailure } from '../wal/replay.ts'
import { findLastWantedService } from './last-wanted.ts'
import { MaskFailed, runMask } from './mask.ts'
import type { ServiceHost } from './service-host.ts'

type Preparation = { id: string; source: ServiceSource; mask?: string | undefined }

const look_again_soon_seconds = 0.3

/** Undefined when the data is ready; else what it waits for. */
export async function ensurePrepared(
  host: ServiceHost,
  service: Node,
  wanted: WantedService,
  { id, source, mask }: Preparation,
): Promise<ObservedFork | undefined> {
  const { effect, directory } = host
  const node = preparedOf(service)
  const files = filesOf(node)
  if ((await readIfThere(files.id)) !== id || (await isMaskCutOff(host, node))) {
    await ensurePreparedRemoved(host, service)
    await ensureHome(effect, node)
    await ensureFile(effect, 'prepared data', files.id, id, undefined)
  }
  if (await statIfThere(files.ready)) return undefined
  await ensureHome(effect, node)
  const parent = await findLastWantedService(directory, source.service_id)
  const waiting = await ensureForked(host, node, source, { parent, meanwhile: async () => undefined })
  if (waiting) return waiting
  if (mask !== undefined || (await statIfThere(node.replay))) {
    const running = await ensureRun(host, node, wanted, mask)
    if (running) return running
  }
  await ensureFile(effect, 'prepared data ready', files.ready, id, undefined)
  return undefined
}

/** The first data of a fork that is masked; undefined when it is in its place. */
export async function ensureMasked(host: ServiceHost, node: Node, wanted: WantedService, source: ServiceSource) {
  await ensureCertificate(host.effect, node, host.authority, hostsOf(wanted))
  const waiting = await ensurePrepared(host, node, wanted, { id: 'fork', source, mask: wanted.mask })
  if (waiting) return waiting
  await ensurePreparedTaken(host.effect, node)
  await ensurePreparedRemoved(host, node)
  return undefined
}

/** Puts ready data, with the WAL that its server archived, in the place of the node's data, which must be absent. */
export async function ensurePreparedTaken(effect: Effect, service: Node): Promise<void> {
  const prepared = preparedOf(service)
  if (!(await statIfThere(prepared.data))) return
  const there = new Set(await listNames(service.archive))
  for (const name of await listNames(prepared.archive)) {
    if (there.has(name) || !isWal(name)) continue
    const bytes = readBytes(prepared.archive, name, wal_file_bytes_max)
    await effect('prepared data: archive WAL')
    if (bytes) await replaceFile(service.archive, name, bytes, { owner: service.owner, durable: true })
  }
  await effect('prepared data: rename into place')
  await rename(prepared.data, service.data)
  await syncOne(service.node_home)
}

/** With its server. */
export async function ensurePreparedRemoved({ effect, jobs }: ServiceHost, service: Node): Promise<void> {
  const node = preparedOf(service)
  if (!(await statIfThere(node.home))) return
  await jobs.end(`${service.service_id}/prepared`)
  if (findEntry(node.home, 'data')) await ensureKilled(effect, node)
  await ensureRemoved(effect, 'prepared data', node.home)
  await ensureRemoved(effect, 'socket folder', node.sockets)
}

function filesOf({ home }: Node) {
  const [masking, masked] = [join(home, 'masking'), join(home, 'masked')]
  return { id: join(home, 'for'), ready: join(home, 'ready'), masking, masked }
}

/** Replays, masks, and stops; undefined when all of it is done. */
async function ensureRun(
  host: ServiceHost,
  node: Node,
  wanted: WantedService,
  mask: string | undefined,
): Promise<ObservedFork | undefined> {
  const { effect, limits } = host
  const hopeless = await ensureReplayable(effect, node)
  if (hopeless !== undefined) return failedFor(hopeless)
  const installation = await installationAt(host, node, wanted)
  if (typeof installation === 'string') return progress(installation)
  const floor = await floorOf(node.data)
  // The memory is that of the service, which runs at the same time.
  const spec = { size: 'shared', extensions: wanted.extensions, node, floor } as const
  const hashes = await ensureServerFiles(host, installation, spec)
  await effect('limits: set')
  await limits.ensure(groupOf(node), wanted.size)
  const { postmaster, died } = await findPostmaster(node)
  const running = postmaster
    ? ((await readyPostmaster(node)) ?? still_starting)
    : await startPostmaster(effect, node, { ...hashes, bin: installation.bin, limits, died })
  if (typeof running === 'string') return progress(running)
  if (mask !== undefined && !(await statIfThere(filesOf(node).masked))) {
    const masking = await waitForMask(host, node, { mask, major: installation.major })
    if (masking) return masking
  }
  await ensureReplayRemoved(effect, node)
  const stopping = await ensureStopped(effect, node)
  return stopping === undefined ? undefined : progress(stopping)
}

/** It began, did not end, and is not under way in this process. */
async function isMaskCutOff({ jobs }: ServiceHost, node: Node): Promise<boolean> {
  const { masking, masked } = filesOf(node)
  return Boolean((await statIfThere(masking)) && !(await statIfThere(masked)) && !jobs.isKnown(maskJob(node)))
}

const maskJob = ({ service_id }: Node) => `${service_id}/prepared/mask`

/** Undefined when it has been run. */
async function waitForMask(
  host: ServiceHost,
  node: Node,
  spec: { mask: string; major: number },
): Promise<ObservedFork | undefined> {
  const { effect, jobs } = host
  const { masking, masked } = filesOf(node)
  try {
    const end = await jobs.ensure(maskJob(node), async (signal) => {
      await replaceDurably(effect, 'mask', masking, 'begun')
      await runMask(effect, node, { ...spec, signal })
      await ensureFile(effect, 'masked', masked, '', undefined)
    })
    return end === 'under way' ? progress('its data is being masked') : undefined
  } catch (error) {
    if (!(error instanceof MaskFailed)) throw error
    await ensureKilled(effect, node)
    await ensureRemoved(effect, 'unmasked data', node.data)
    await saveFailure(effect, node, error.message)
    await ensureFile(effect, 'masked', masked, '', undefined)
    return failedFor(error.message)
  }
}

const progress = (waiting_for: string): ObservedFork => ({
  waiting_for,
  in_progress: true,
  look_again_seconds: look_again_soon_seconds,
})
