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
  rewindService: { target_time: '2026-11-15T11:55:00Z' },
  renameService: { name: 'another name' },
  resizeService: { cpu_millis: '1000', memory_gbs: '4' },
  updatePassword: { password: 'a long new password' },
  setEnvironment: { environment: 'PROD' },
  setExpiry: { expires_at: '2030-01-31T12:00:00Z' },
  setProtection: { protected: true },
  setSnapshotPolicy: { every: '6h', keep: '7d' },
  setHA: { replica_count: 1 },
  createReplicaSet: { name: 'a set', nodes: 1, cpu_millis: 500, memory_gbs: 2 },
  resizeReplicaSet: { cpu_millis: '1000', memory_gbs: '4' },
  setReplicaSetEnvironment: { environment: 'PROD' },
  runQuery: { query: 'select 1' },
  createVpc: { cidr: '10.64.0.0/24', name: 'a VPC', region_code: 'local' },
  renameVpc: { name: 'another name' },
  attachToVpc: { vpc_id: '999999999' },
  createPeering: { peer_account_id: 'nosuchid00', peer_region_code: 'local', peer_vpc_id: '999999999' },
  getMetricSeries: { name: 'connections', from: '2026-11-15T10:00:00Z', to: '2026-11-15T11:00:00Z' },
}

/** The path with these ids; what else it names is of `made`, or does not exist. */
export function pathOf(
  { endpoint }: Row,
  ids: { project_id: string; service_id?: string; made?: ReadonlyMap<string, string> },
): string {
  const { project_id, service_id = no_id, made } = ids
  return endpoint.path.replaceAll(/\{(\w+)\}/g, (_, name: string) => {
    if (name === 'project_id') return project_id
    if (name === 'service_id') return service_id
    return made?.get(name) ?? (name === 'public_key' ? 'NOSUCHKEY0' : number_ids.includes(name) ? '999999999' : no_id)
  })
}

const no_id = 'nosuchid00'
const number_ids = ['user_id', 'vpc_id', 'peering_id']
