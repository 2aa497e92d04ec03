// The whole API as one table: name → endpoint. Two places make a new endpoint: a row here and its handler.
import { audit_endpoints } from './audit.ts'
import { auth_endpoints } from './auth.ts'
import { capability_endpoints } from './capabilities.ts'
import { ca_endpoints } from './ca.ts'
import { deletion_endpoints } from './deletion.ts'
import { event_endpoints } from './event.ts'
import { ha_endpoints } from './ha.ts'
import { log_endpoints } from './log.ts'
import { metric_endpoints } from './metric.ts'
import { member_endpoints } from './member.ts'
import { peering_endpoints } from './peering.ts'
import { pooler_endpoints } from './pooler.ts'
import { project_endpoints } from './project.ts'
import { query_endpoints } from './query.ts'
import { replica_set_endpoints } from './replica-set.ts'
import { rewind_endpoints } from './rewind.ts'
import { service_endpoints } from './service.ts'
import { snapshot_endpoints } from './snapshot.ts'
import { token_endpoints } from './token.ts'
import { vpc_endpoints } from './vpc.ts'

export { base_path } from './base-path.ts'

export const api = {
  ...auth_endpoints,
  ...capability_endpoints,
  ...ca_endpoints,
  ...project_endpoints,
  ...member_endpoints,
  ...token_endpoints,
  ...audit_endpoints,
  ...service_endpoints,
  ...deletion_endpoints,
  ...event_endpoints,
  ...ha_endpoints,
  ...pooler_endpoints,
  ...replica_set_endpoints,
  ...snapshot_endpoints,
  ...rewind_endpoints,
  ...query_endpoints,
  ...vpc_endpoints,
  ...peering_endpoints,
  ...log_endpoints,
  ...metric_endpoints,
}

export type Api = typeof api
export type EndpointName = keyof Api

/** The endpoints whose lists go on. */
export type StreamName = { [Name in EndpointName]: Api[Name] extends { streams: true } ? Name : never }[EndpointName]
