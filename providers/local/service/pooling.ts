// The pooler's part in the story of one service: there when it is wanted and the primary serves, gone when it is not
// wanted. What does not serve is left alone: a pooler whose PostgreSQL is on its way back keeps its clients waiting.
import type { WantedService } from '../../provider.ts'
import type { Place } from '../host/layout.ts'
import type { ServiceHost } from './service-host.ts'
import { ensurePooler, ensurePoolerGone } from '../pooler/pooler.ts'
import { withMore, type Seen } from './seen.ts'
import { connectionsOf } from '../postgres/settings.ts'

/** What was seen of the service, and of its pooler. It serves without its pooler too, but is not settled. */
export async function withPooler(host: ServiceHost, primary: Place, wanted: WantedService, seen: Seen): Promise<Seen> {
  const { pooler: listen, network, size, password_verifier } = wanted
  if (listen === undefined) await ensurePoolerGone(host, primary)
  // One whose archive stalls does not count as serving, but logins work.
  const can_log_in = seen.state === 'serving' || seen.settled
  if (listen === undefined || !can_log_in) return seen
  const { serving, ...pooler } = await ensurePooler(host, {
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
  return withMore(seen, { ...pooler, settled: serving })
}
