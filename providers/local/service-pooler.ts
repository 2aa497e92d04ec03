// The pooler's part in the story of one service: there when it is wanted and the primary serves, gone when it is not
// wanted. What does not serve is left alone: a pooler whose PostgreSQL is on its way back keeps its clients waiting.
import type { ObservedService, WantedService } from '../provider.ts'
import type { Place } from './layout.ts'
import type { LocalHost } from './local-host.ts'
import { ensurePooler, ensurePoolerGone } from './pooler.ts'
import { connectionsOf } from './settings.ts'

type Seen = Omit<ObservedService, 'snapshots'>

/** What was seen of the service, and of its pooler. It serves without its pooler too, but is not settled. */
export async function withPooler(host: LocalHost, primary: Place, wanted: WantedService, seen: Seen): Promise<Seen> {
  const { pooler: listen, network, size, password_verifier } = wanted
  if (listen === undefined) await ensurePoolerGone(host, primary)
  if (listen === undefined || seen.state !== 'serving') return seen
  const { serving, happenings, ...waiting } = await ensurePooler(host, {
    place: primary,
    primary,
    target_sockets: primary.service_sockets,
    target_port: primary.port,
    listen: network?.pooler_address ? { host: network.pooler_address, port: primary.port } : listen,
    network,
    size,
    max_connections: connectionsOf(size),
    password_verifier,
  })
  return { ...seen, ...waiting, settled: seen.settled && serving, happenings: [...seen.happenings, ...happenings] }
}
