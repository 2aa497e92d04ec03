// What ends a service: its removal, with all that is its own, and its stop.
import { downOf } from '../ha/trouble.ts'
import { ensureNotRelayed } from '../ha/in-place.ts'
import { ensureNodesKilled, ensureNodesStopped, isBeingMade } from '../ha/nodes.ts'
import { ensureRelayRemoved } from '../ha/relay.ts'
import { ensureRemoved } from '../host/effect.ts'
import type { Node } from '../host/layout.ts'
import { findLock } from '../host/lock.ts'
import { progress } from '../../setback.ts'
import { ensurePoolerRemoved } from '../pooler/pooler.ts'
import { ensureDataRemoved } from '../postgres/data-directory.ts'
import { listNodes } from '../postgres/nodes.ts'
import { ensureSharedMemoryRemoved } from '../postgres/shared-memory.ts'
import type { Observed } from './observed.ts'
import { ensurePreparedRemoved } from './prepared.ts'
import type { ServiceHost } from './service-host.ts'

export async function ensureServiceRemoved(host: ServiceHost, base: Node): Promise<Observed> {
  host.forget(base.service_id)
  await host.jobs.end(base.service_id)
  const making = await Promise.all((await listNodes(base)).map(isBeingMade))
  if (making.includes(true) || (await findLock(base))) {
    return progress('unknown', 'another server is copying its data')
  }
  await ensurePreparedRemoved(host, base)
  await ensurePoolerRemoved(host, base)
  await ensureRelayRemoved(host, base)
  await ensureNodesKilled(host, base, 'user')
  if (base.owner) await ensureSharedMemoryRemoved(host.effect, base.owner)
  await ensureDataRemoved(host.effect, base)
  return { state: 'absent', settled: true, events: [] }
}

export async function ensureOff(host: ServiceHost, node: Node): Promise<Observed> {
  host.forget(node.service_id)
  await ensureRemoved(host.effect, 'sign of being down', downOf(node))
  await ensurePoolerRemoved(host, node)
  const waiting_for = await ensureNodesStopped(host, node, 'service')
  if (waiting_for !== undefined) return progress('not_serving', waiting_for)
  await ensureNotRelayed(host, node)
  return { state: 'stopped', settled: true, events: [] }
}
