// Snapshots of a service, the moments it can be restored to, and the family tree that forks make.
import { Type } from 'typebox'
import { endpoint } from './endpoint.ts'
import { Timestamp } from './schema.ts'
import { accepted_statuses } from './service-status.ts'

export const snapshot_kinds = ['initial', 'scheduled', 'manual', 'fork', 'now'] as const
export type SnapshotKind = (typeof snapshot_kinds)[number]

export const Snapshot = Type.Object(
  {
    id: Type.String(),
    kind: Type.Enum([...snapshot_kinds], {
      description:
        '`fork`: for one fork NOW that is being made. `now`: what such forks leave, until a newer one is complete.',
    }),
    status: Type.Enum(['taking', 'complete', 'deleting']),
    requested: Timestamp,
    taken: Type.Optional(Timestamp),
    size_mb: Type.Optional(
      Type.Integer({ description: 'Bytes of its files; on a copy-on-write file system it shares them.' }),
    ),
  },
  { $id: 'Snapshot' },
)

export const Restorable = Type.Object(
  {
    restorable_from: Type.Optional(Timestamp),
    restorable_until: Type.Optional(Timestamp),
    waiting_for: Type.Optional(Type.String({ description: 'Why there is no such moment yet.' })),
  },
  {
    $id: 'Restorable',
    description:
      'Any moment in between can be the `target_time` of a fork. The first one is that of the first snapshot, which is taken as soon as a new service is READY: no moment before it, in the first second or two, can be restored.',
  },
)

export const strategies = ['LAST_SNAPSHOT', 'NOW', 'PITR'] as const
export type ForkStrategy = (typeof strategies)[number]

const LineageNode = Type.Object(
  {
    service_id: Type.String(),
    name: Type.String(),
    created: Timestamp,
    forked_from: Type.Optional(
      Type.Object({
        service_id: Type.String(),
        fork_strategy: Type.Enum([...strategies]),
        moment: Type.Optional(Timestamp),
        exists: Type.Boolean({ description: 'Whether the parent is still there.' }),
      }),
    ),
  },
  { $id: 'LineageNode' },
)

const service = '/projects/{project_id}/services/{service_id}'
const tag = 'Snapshots'

export const snapshot_endpoints = {
  listSnapshots: endpoint({
    method: 'GET',
    path: `${service}/snapshots`,
    summary: 'List the snapshots of a service, newest first',
    tag,
    access: 'viewer',
    success: 200,
    output: Type.Array(Snapshot),
  }),
  takeSnapshot: endpoint({
    method: 'POST',
    path: `${service}/snapshots`,
    summary: 'Take a snapshot now',
    description: 'Asynchronous. It is kept until it is deleted; scheduled ones are kept as the installation says.',
    tag,
    access: 'developer',
    accepts: accepted_statuses.snapshot,
    faults: ['QUOTA_EXCEEDED'],
    success: 202,
    output: Snapshot,
  }),
  deleteSnapshot: endpoint({
    method: 'DELETE',
    path: `${service}/snapshots/{snapshot_id}`,
    summary: 'Delete a snapshot',
    description: 'The last complete one stays: forks and recovery stand on it.',
    tag,
    access: 'developer',
    faults: ['CONFLICT'],
    success: 202,
  }),
  getRestorable: endpoint({
    method: 'GET',
    path: `${service}/restorable`,
    summary: 'The window of moments that a PITR fork can reach',
    tag,
    access: 'viewer',
    success: 200,
    output: Restorable,
  }),
  getLineage: endpoint({
    method: 'GET',
    path: '/projects/{project_id}/lineage',
    summary: 'Every service of the project with the moment it was forked from',
    tag,
    access: 'viewer',
    success: 200,
    output: Type.Array(LineageNode),
  }),
}
