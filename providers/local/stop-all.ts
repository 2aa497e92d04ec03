// Stops every database below the directory, cleanly, with its pooler, its balancers and its networks.
import { readdir } from 'node:fs/promises'
import { ensureNodesStopped, removeLimits } from './ha/nodes.ts'
import { findService } from './postgres/nodes.ts'
import { ensureNotRelayed } from './ha/in-place.ts'
import { foldersOf } from './host/layout.ts'
import type { LocalHost } from './local-host.ts'
import { ensurePoolerRemoved } from './pooler/pooler.ts'
import { ensureBalancerRemoved } from './replica-set/balancer.ts'
import { removeAllVpcs } from './vpc/vpc.ts'

const stop_attempts_max = 15

export async function stopAll(host: LocalHost): Promise<void> {
  const { services } = foldersOf(host.directory)
  const names = (await readdir(services)).filter((name) => /^[a-z0-9]+$/.test(name))
  await Promise.all(names.map((service_id) => stopOne(host, service_id)))
  await removeAllVpcs(host)
}

async function stopOne(host: LocalHost, service_id: string): Promise<void> {
  const primary = await findService(host.directory, service_id, host.as_root)
  if (!primary) return
  host.forget(service_id)
  await ensurePoolerRemoved(host, primary)
  await ensureBalancerRemoved(host, primary)
  for (let attempt = 0; attempt < stop_attempts_max; attempt++) {
    if ((await ensureNodesStopped(host, primary, 'service')) !== undefined) continue
    await ensureNotRelayed(host, primary)
    // Their control groups are removed too: an administrator who stops everything may be about to remove everything.
    return await removeLimits(host, primary)
  }
  throw new Error(`the PostgreSQL server of service ${service_id} does not stop`)
}
