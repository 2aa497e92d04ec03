// Which services do not serve, told from what their servers say of themselves: a file and a look at a process each, so it can be
// asked of hundreds at once, before any of them is looked at in full.
import { findService } from '../postgres/nodes.ts'
import { isRelayUp } from '../ha/relay.ts'
import type { ServiceHost } from './service-host.ts'
import { findPostmaster } from '../postgres/process.ts'

type Host = Pick<ServiceHost, 'directory' | 'as_root' | 'watch'>

/** Those of them whose primary does not run, or is not ready for logins. The others are watched from now on. */
export async function findDown(host: Host, service_ids: readonly string[]): Promise<string[]> {
  const down: string[] = []
  for (const service_id of service_ids.filter((id) => !host.watch.has(id))) {
    const pid = await findReady(host, service_id)
    if (pid === undefined) down.push(service_id)
    else host.watch.track(service_id, pid)
  }
  return down
}

async function findReady(host: Host, service_id: string): Promise<number | undefined> {
  const place = await findService(host.directory, service_id, host.as_root)
  if (place?.role === 'relayed' && !(await isRelayUp(host, place))) return undefined
  // What its user has put in the place of a file is told by the full look.
  const found = place && (await findPostmaster(place).catch(() => undefined))
  return found?.postmaster?.ready ? found.postmaster.pid : undefined
}
