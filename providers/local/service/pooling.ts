// The pooler's part in a pass over one service: it is made when it is wanted and the primary serves, and removed when it is not
// wanted. While the primary does not serve it is not touched: its clients wait for PostgreSQL to come back.
import type { WantedService } from '../../provider.ts'
import type { Node } from '../host/layout.ts'
import type { ServiceHost } from './service-host.ts'
import { ensurePooler, ensurePoolerRemoved } from '../pooler/pooler.ts'
import { withMore, type Observed } from './observed.ts'
import { connectionsOf } from '../../postgres/size.ts'

/** What is observed of the service and of its pooler. It serves without its pooler too, but is not settled. */
export async function withPooler(
  host: ServiceHost,
  primary: Node,
  wanted: WantedService,
  observed: Observed,
): Promise<Observed> {
  const { pooler: listen, vpc_id, size, password_verifier } = wanted
  if (listen === undefined) await ensurePoolerRemoved(host, primary)
  // A service whose archive stalls does not count as serving, but logins work.
  const can_log_in = observed.state === 'serving' || observed.settled
  if (listen === undefined || !can_log_in) return observed
  const { serving, ...pooler } = await ensurePooler(host, {
    node: primary,
    primary,
    target_sockets: primary.service_sockets,
    target_port: primary.port,
    listen,
    vpc_id,
    size,
    max_connections: connectionsOf(size),
    password_verifier,
  })
  return withMore(observed, { ...pooler, settled: serving })
}
