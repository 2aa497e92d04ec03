// The kind of each home below the provider's directory: services and replica sets have homes side by side. Which of them certainly
// do not serve is read from pid files and processes, one of each, so hundreds can be read
// at once, before any full pass.
import { readdir } from 'node:fs/promises'
import type { Kind, Listed } from '../../provider.ts'
import { findService } from '../postgres/nodes.ts'
import { isRelayUp } from '../ha/relay.ts'
import { foldersOf } from '../host/layout.ts'
import type { ServiceHost } from './service-host.ts'
import { findPostmaster } from '../postgres/process.ts'
import { findLastWanted, isReplicaSet } from './last-wanted.ts'

type Host = Pick<ServiceHost, 'directory' | 'as_root' | 'watch'>

type Kinds = {
  of(id: string): Promise<Kind>
  /** Services that serve are watched from now on. */
  list(kind: Kind): Promise<Listed[]>
}

export function newKinds(host: Host): Kinds {
  /** An id never changes its kind; that of a home without a note is not known yet. */
  const known = new Map<string, Kind>()
  const of = async (id: string): Promise<Kind> => {
    // A note that cannot be read is reported by the full pass.
    const noted = known.has(id) ? undefined : await findLastWanted(host.directory, id).catch(() => undefined)
    if (noted) known.set(id, isReplicaSet(noted) ? 'replica set' : 'service')
    return known.get(id) ?? 'service'
  }
  const list = async (kind: Kind): Promise<Listed[]> => {
    const homes = (await readdir(foldersOf(host.directory).services)).filter((name) => !name.includes('.'))
    for (const id of known.keys()) if (!homes.includes(id)) known.delete(id)
    const listed: Listed[] = []
    for (const id of homes) {
      if ((await of(id)) === kind) listed.push({ id, down: kind === 'service' && (await isDown(host, id)) })
    }
    return listed
  }
  return { of, list }
}

/** Its primary does not run, or is not ready for logins. */
async function isDown(host: Host, service_id: string): Promise<boolean> {
  if (host.watch.has(service_id)) return false
  const node = await findService(host.directory, service_id, host.as_root)
  if (!node || (node.role === 'relayed' && !(await isRelayUp(host, node)))) return true
  // A planted pid file is reported by the full pass.
  const found = await findPostmaster(node).catch(() => undefined)
  if (!found?.postmaster?.ready) return true
  host.watch.track(service_id, found.postmaster.pid, { data: node.data })
  return false
}
