// Requests derived from the contract's table, for tests that walk over all endpoints.
import { api, type EndpointName } from '#contract/api.ts'
import type { Endpoint } from '#contract/endpoint.ts'

export type Row = { name: EndpointName; endpoint: Endpoint }

// Object.keys forgets the names that the table's type has.
export const rows: Row[] = (Object.keys(api) as EndpointName[]).map((name) => ({ name, endpoint: api[name] }))

/** A body that the schema accepts, for endpoints that have one. */
export const valid_bodies: { [Name in EndpointName]?: Record<string, unknown> } = {
  createProject: { name: 'a project' },
  renameProject: { name: 'another name' },
  addMember: { email: 'somebody@example.com', role: 'viewer' },
  setMemberRole: { role: 'viewer' },
  createToken: { name: 'a token' },
  createService: { name: 'a service' },
  forkService: { fork_strategy: 'NOW' },
  renameService: { name: 'another name' },
  resizeService: { cpu_millis: '1000', memory_gbs: '4' },
  updatePassword: { password: 'a long new password' },
  setEnvironment: { environment: 'PROD' },
  setHA: { replica_count: 1 },
  createReplicaSet: { name: 'a set', nodes: 1, cpu_millis: 500, memory_gbs: 2 },
  resizeReplicaSet: { cpu_millis: '1000', memory_gbs: '4' },
  setReplicaSetEnvironment: { environment: 'PROD' },
  createVpc: { cidr: '10.64.0.0/24', name: 'a VPC', region_code: 'local' },
  renameVpc: { name: 'another name' },
  attachToVpc: { vpc_id: '999999999' },
  createPeering: { peer_account_id: 'nosuchid00', peer_region_code: 'local', peer_vpc_id: '999999999' },
  getMetricSeries: { name: 'connections', from: '2026-11-15T10:00:00Z', to: '2026-11-15T11:00:00Z' },
}

/** The path with these ids; whatever else it names does not exist. */
export function pathOf({ endpoint }: Row, ids: { project_id: string; service_id?: string }): string {
  return endpoint.path
    .replace('{project_id}', ids.project_id)
    .replace('{service_id}', ids.service_id ?? 'nosuchid00')
    .replace('{user_id}', '999999999')
    .replace('{public_key}', 'NOSUCHKEY0')
    .replace('{snapshot_id}', 'nosuchid00')
    .replace('{replica_set_id}', 'nosuchid00')
    .replace('{vpc_id}', '999999999')
    .replace('{peering_id}', '999999999')
}
