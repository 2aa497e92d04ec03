// What this installation can do, for clients that would rather know than try: facts of each region, and limits of all.
import { type Static, Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { addons } from './service.ts'

const offered = Type.Boolean()
const reason = Type.Optional(Type.String({ description: 'Why it is not offered, and what to do about it.' }))
const Offered = Type.Object({ offered, reason }, { $id: 'Offered' })

export const Region = Type.Object(
  {
    code: Type.String({ description: 'The `region_code` of requests.' }),
    is_default: Type.Boolean({ description: 'Where a service is made whose request names no region.' }),
    provider: Type.String({ description: 'What makes its services, such as `local`: PostgreSQL on one machine.' }),
    volume_type: Type.String(),
    copy_on_write: Type.Boolean({ description: 'Forks and snapshots share blocks with their source.' }),
    postgres_versions: Type.Array(Type.String(), { description: 'Newest first, such as `18.4`.' }),
    sizes: Type.Array(
      Type.Object({ cpu_millis: Type.Integer(), memory_gbs: Type.Integer(), offered, reason }, { $id: 'OfferedSize' }),
    ),
    shared: Offered,
    addons: Type.Array(Type.Object({ name: Type.Enum([...addons]), offered, reason }, { $id: 'OfferedAddon' })),
    features: Type.Object({ pooler: Offered, replica_sets: Offered, vpcs: Offered, limits: Offered }),
  },
  { $id: 'Region' },
)

export const Capabilities = Type.Object(
  {
    version: Type.String(),
    login: Type.Enum(['password', 'oidc'], { description: 'How people log in: here, or at an OpenID Connect issuer.' }),
    regions: Type.Array(Region),
    retention: Type.Object({
      snapshots: Type.Object({ interval_seconds: Type.Integer(), kept: Type.Integer() }),
      logs: Type.Object({ seconds: Type.Integer(), bytes: Type.Integer() }),
      metrics: Type.Array(Type.Object({ bucket_seconds: Type.Integer(), kept_seconds: Type.Integer() })),
    }),
    limits: Type.Object({
      services_per_project: Type.Integer(),
      replicas_per_service: Type.Integer(),
      replica_sets_per_service: Type.Integer(),
      nodes_per_replica_set: Type.Integer(),
      vpcs_per_project: Type.Integer(),
    }),
  },
  { $id: 'Capabilities' },
)
export type Capabilities = Static<typeof Capabilities>

export const capability_endpoints = {
  getCapabilities: endpoint({
    method: 'GET',
    path: '/capabilities',
    summary: 'What this installation can do',
    description: 'Version, regions with what each offers or why not, how long things are kept, and limits.',
    tag: 'Installation',
    access: 'caller',
    success: 200,
    output: Capabilities,
  }),
}
