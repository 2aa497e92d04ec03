// High availability of a service: how many standbys can take over, and a planned change of the primary.
import { endpoint } from './endpoint.ts'
import { input } from './schema.ts'
import { Service } from './service.ts'
import { ReplicaCount, SyncReplicaCount } from './service-input.ts'
import { accepted_statuses } from './service-status.ts'
import { Type } from './type.ts'

const one = '/projects/{project_id}/services/{service_id}'
const tag = 'Services'

export const ha_endpoints = {
  setHA: endpoint({
    method: 'POST',
    path: `${one}/setHA`,
    summary: 'Change how many replicas can take over',
    description: 'A count that is left out stays as it is; one of them must be there.',
    tag,
    access: 'developer',
    follows: 'service',
    accepts: accepted_statuses.set_ha,
    body: input(
      { replica_count: Type.Optional(ReplicaCount), sync_replica_count: Type.Optional(SyncReplicaCount) },
      { replica_count: 2, sync_replica_count: 1 },
    ),
    success: 202,
    output: Service,
  }),
  switchover: endpoint({
    method: 'POST',
    path: `${one}/switchover`,
    summary: 'Make a replica the primary, as planned',
    description: 'Nothing that was committed is lost; the old primary becomes a replica.',
    tag,
    access: 'developer',
    interrupts: true,
    follows: 'service',
    accepts: accepted_statuses.switchover,
    success: 202,
    output: Service,
  }),
}
