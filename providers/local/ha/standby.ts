// A standby of a service's primary, from nothing to streaming: its data is copied, its server started, and its name is found
// among the primary's walsenders. The same for nodes that can take over and for nodes of replica sets.
import { ensureNodeHome } from '../postgres/data-directory.ts'
import { ensureRemoved } from '../host/effect.ts'
import { messageOf } from '../../host/message.ts'
import { isDiskFull } from '../../host/read.ts'
import { groupOf, look_again_without_space_seconds, noSpaceSentence, type Node } from '../host/layout.ts'
import { ensureGroupRemoved } from '../host/leftovers.ts'
import type { HaHost } from './ha-host.ts'
import { ensureSlot, ensureSlotRemoved, listSenders, type Sender } from './replication.ts'
import { ensureReservedRole } from '../postgres/reserved-roles.ts'
import { judgeSilence, judgeStart, observedAs, type ObservedStandby } from './standby-judge.ts'
import { ensureDataMovedAside, ensureStandbyData } from './standby-data.ts'
import { ensureStandbyRunning } from './standby-server.ts'
import { listenedAt, type StandbySpec } from './standby-spec.ts'
import { withSuperuser } from '../postgres/superuser.ts'
import { tenantSetbackOf } from '../postgres/tenant-setback.ts'
import { standby_role } from '../../postgres/names.ts'

const look_again_after_setback_seconds = 5
/** A standby that was just started streams well within it, so that one pass is enough. */
const streaming_wait_ms = 1_000
const poll_every_ms = 10
const answer_ms_max = 1_000

export async function ensureStandby(host: HaHost, spec: StandbySpec): Promise<ObservedStandby> {
  const node = listenedAt(spec)
  await ensureNodeHome(host.effect, node)
  await host.log_watch.ensureKept(node.log)
  const sender = await preparePrimary(host, spec)
  if (typeof sender === 'string') return observedAs('not_streaming', sender)
  try {
    if ((await ensureStandbyData(host, node, spec.primary)) === 'copying') {
      return { ...observedAs('copying', 'the data of a replica is being copied'), in_progress: true }
    }
  } catch (error) {
    return { ...copySetbackOf(host, error), failed: true }
  }
  const running = await ensureStandbyRunning(host, spec)
  if (typeof running === 'string') return await judgeStart(host, spec, node, running, sender)
  await host.effect('limits: set')
  await host.limits.ensure(groupOf(node), spec.size)
  const found = sender?.state === 'streaming' && running.found ? sender : await findStreaming(spec, running)
  if (found?.state !== 'streaming')
    return { ...(await judgeSilence(host, spec, node, running, found)), pid: running.pid }
  await ensureRemoved(host.effect, 'sign of not streaming', node.not_streaming)
  return { state: 'streaming', pid: running.pid, events: [] }
}

/** Removes all of a node: processes, files, control group, and its slot at the primary, when that is given and serves. */
export async function ensureStandbyRemoved(
  host: HaHost,
  node: Node,
  slot?: { primary: Node; name: string },
): Promise<void> {
  const { effect } = host
  await ensureDataMovedAside(effect, node)
  await effect('limits: remove')
  await ensureGroupRemoved(host, groupOf(node))
  if (slot) await withSuperuser(slot.primary, {}, (client) => ensureSlotRemoved(effect, client, slot.name))
  // Of the first node only what is its own: its home is that of the service.
  if (node.node_home !== node.home) await ensureRemoved(effect, 'removed node', node.node_home)
  const { data_removed, data_aside, tail, settings, start_log, not_streaming, stopping, reloaded, making, log } = node
  const own = [data_removed, data_aside, tail, settings, start_log, not_streaming, stopping, reloaded, making, log]
  for (const path of own) await ensureRemoved(effect, 'removed node', path)
  if (node.sockets !== node.service_sockets) await ensureRemoved(effect, 'socket folder', node.sockets)
}

/** Makes the role and the slot, so that WAL is kept from before the copy on. Undefined: no walsender for this standby; a sentence: not possible yet. */
async function preparePrimary(host: HaHost, { primary, name, slot }: StandbySpec) {
  try {
    return await withSuperuser(primary, { connect_timeout_ms: answer_ms_max }, async (client) => {
      await ensureReservedRole(host.effect, client, standby_role)
      if (slot !== undefined) await ensureSlot(host.effect, client, slot)
      return (await listSenders(client)).find((sender) => sender.name === name)
    })
  } catch (error) {
    const { message } = tenantSetbackOf(error) ?? { message: 'its primary does not serve yet' }
    return `a replica waits: ${message}`
  }
}

function copySetbackOf({ directory }: HaHost, error: unknown): ObservedStandby {
  if (isDiskFull(error)) {
    const look_again_seconds = look_again_without_space_seconds
    return { ...observedAs('absent', `a replica is waiting: ${noSpaceSentence(directory)}`), look_again_seconds }
  }
  const reason = messageOf(error)
  const look_again_seconds = look_again_after_setback_seconds
  return { ...observedAs('absent', `a replica could not be made and is tried again: ${reason}`), look_again_seconds }
}

/** A server that ran before is read once; a server that was just started gets some time. */
async function findStreaming(
  { primary, name }: StandbySpec,
  { found }: { found: boolean },
): Promise<Sender | undefined> {
  const deadline = performance.now() + (found ? 0 : streaming_wait_ms)
  return await withSuperuser(primary, {}, async (client) => {
    for (;;) {
      const sender = (await listSenders(client)).find((one) => one.name === name)
      if (sender?.state === 'streaming' || performance.now() >= deadline) return sender
      await client.query('select pg_catalog.pg_sleep($1)', [poll_every_ms / 1000])
    }
  })
}
