// Snapshots of a service, the moments it can be restored to, and the family tree that forks make.
import type { Static } from 'typebox'
import { endpoint } from './endpoint.ts'
import { ServiceId, SnapshotId } from './id.ts'
import { duration_pattern } from './problem.ts'
import { choice, flag, GivenName, input, integer, Message, moment, text } from './schema.ts'
import { accepted_statuses } from './service-status.ts'
import { Type } from './type.ts'

const snapshot_kinds = ['initial', 'scheduled', 'manual', 'now', 'rewind'] as const
export type SnapshotKind = (typeof snapshot_kinds)[number]

const snapshot_statuses = ['taking', 'complete', 'deleting'] as const
export type SnapshotStatus = (typeof snapshot_statuses)[number]

export const Snapshot = Type.Object(
  {
    id: SnapshotId,
    kind: choice(
      snapshot_kinds,
      '`now`: what forks NOW and rewinds leave, until a newer one is complete. `rewind`: the state before the last rewind.',
      'scheduled',
    ),
    status: choice(snapshot_statuses, 'Forks can be made of a `complete` one.', 'complete'),
    requested: moment('When it was requested.'),
    taken: Type.Optional(moment('The moment that it shows; absent until it is complete.')),
    size_mb: Type.Optional(
      integer('Megabytes of its files; on a copy-on-write file system it shares them with the service.', 312),
    ),
  },
  { $id: 'Snapshot', description: 'The files of a service as they were at a moment.' },
)
export type Snapshot = Static<typeof Snapshot>

const duration = (description: string, example: string) =>
  text(`${description} A number with m, h, d or w.`, example, { maxLength: 8, pattern: duration_pattern })

export const SnapshotPolicy = Type.Object(
  {
    every: duration('How often a snapshot is taken, from 1m to 30d.', '6h'),
    keep: duration('For how long it is kept: how far back recovery reaches, from `every` to 52w.', '7d'),
  },
  { $id: 'SnapshotPolicy', description: 'The schedule of a service’s snapshots.' },
)
export type SnapshotPolicy = Static<typeof SnapshotPolicy>

export const Restorable = Type.Object(
  {
    restorable_from: Type.Optional(moment('The first moment.', '2026-11-08T12:00:00Z')),
    restorable_until: Type.Optional(moment('The last one, which is now while the service runs.')),
    waiting_for: Type.Optional(
      text(
        'Why there is no such moment yet.',
        'the first snapshot is not complete yet; it is taken when the service is READY',
      ),
    ),
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
    service_id: ServiceId,
    name: GivenName,
    created: moment('When the service was made.'),
    forked_from: Type.Optional(
      Type.Object(
        {
          service_id: ServiceId,
          fork_strategy: choice(strategies, 'How the moment was chosen.', 'NOW'),
          moment: Type.Optional(moment('The moment of the parent that the fork began with.')),
          exists: flag('Whether the parent is still there.', true),
        },
        { description: 'The parent; absent for a service that is no fork.' },
      ),
    ),
  },
  { $id: 'LineageNode', description: 'A service and where it came from.' },
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
    follows: 'snapshot',
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
    follows: 'gone',
    faults: ['CONFLICT'],
    success: 202,
  }),
  setSnapshotPolicy: endpoint({
    method: 'POST',
    path: `${service}/setSnapshotPolicy`,
    summary: 'Set how often a service is snapshot, and for how long snapshots are kept',
    description:
      'Without both members the service follows the installation again (`retention.snapshots` of `/capabilities`). Snapshots that were taken by hand stay.',
    tag,
    access: 'developer',
    accepts: accepted_statuses.describe,
    body: input(
      {
        every: Type.Optional(SnapshotPolicy.properties.every),
        keep: Type.Optional(SnapshotPolicy.properties.keep),
      },
      { every: '6h', keep: '7d' },
    ),
    success: 200,
    output: Message,
  }),
  drillService: endpoint({
    method: 'POST',
    path: `${service}/drill`,
    summary: 'Try out now whether a service can be restored',
    description:
      'Asynchronous, and once a day without being asked. Its newest snapshot and the WAL after it are restored into a node that no client reaches, read, and removed; `protection` has the result.',
    tag,
    access: 'developer',
    follows: 'service',
    accepts: accepted_statuses.snapshot,
    success: 202,
    output: Message,
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
