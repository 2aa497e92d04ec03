// How services end, and how an end is undone: a moment that is set, protection from a slip, and deleted services that are kept for a while.
import type { Static } from 'typebox'
import { endpoint } from './endpoint.ts'
import { ServiceId } from './id.ts'
import { flag, GivenName, input, Metadata, moment, momentOrNull, RegionCode } from './schema.ts'
import { Service } from './service.ts'
import { accepted_statuses } from './service-status.ts'
import { Type } from './type.ts'

const DeletedService = Type.Object(
  {
    service_id: ServiceId,
    name: GivenName,
    created: moment('When it was made.'),
    region_code: RegionCode,
    metadata: Metadata,
    deleted_at: moment('When its deletion was requested.'),
    kept_until: moment('Until then it can be restored.', '2026-11-16T12:00:00Z'),
  },
  { $id: 'DeletedService', description: 'A deleted service that can still be restored.' },
)
export type DeletedService = Static<typeof DeletedService>

const one = '/projects/{project_id}/services/{service_id}'
const deleted = '/projects/{project_id}/deletedServices'
const tag = 'Services'

export const deletion_endpoints = {
  setExpiry: endpoint({
    method: 'POST',
    path: `${one}/setExpiry`,
    summary: 'Set when a service is deleted by itself',
    description:
      'An event `expiring` warns an hour before and ten minutes before, or at once when it is nearer. At the moment the service is deleted, within a minute, and not kept; a server that was down then does it when it starts. A protected service does not expire.',
    tag,
    access: 'developer',
    accepts: accepted_statuses.describe,
    body: input(
      { expires_at: momentOrNull('At most 3650 days from now; null: never.', '2030-01-31T12:00:00Z') },
      { expires_at: '2030-01-31T12:00:00Z' },
    ),
    faults: ['CONFLICT'],
    success: 200,
    output: Service,
  }),
  setProtection: endpoint({
    method: 'POST',
    path: `${one}/setProtection`,
    summary: 'Protect a service from deletion, or no longer',
    description: 'Until this says otherwise, a service is protected while its environment is PROD.',
    tag,
    access: 'developer',
    accepts: accepted_statuses.describe,
    body: input(
      { protected: flag('True: DELETE is refused, and the service does not expire.', true) },
      { protected: true },
    ),
    success: 200,
    output: Service,
  }),
  listDeletedServices: endpoint({
    method: 'GET',
    path: deleted,
    summary: 'List the deleted services that can be restored, the last deleted first',
    description:
      'Their processes have ended. They keep their addresses and their disk space, and count as services of the project.',
    tag,
    access: 'viewer',
    success: 200,
    output: Type.Array(DeletedService),
  }),
  restoreDeletedService: endpoint({
    method: 'POST',
    path: `${deleted}/{service_id}/restore`,
    summary: 'Bring a deleted service back',
    description:
      'With its id, endpoint, passwords, data, snapshots, replicas and replica sets, stopped if it was stopped. If its VPC was deleted meanwhile, it comes back outside of it.',
    tag,
    access: 'developer',
    follows: 'service',
    success: 202,
    output: Service,
  }),
  purgeDeletedService: endpoint({
    method: 'POST',
    path: `${deleted}/{service_id}/purge`,
    summary: 'Remove a deleted service for good',
    description: 'It cannot be restored any more; its addresses and its disk space are free in a moment.',
    tag,
    access: 'developer',
    effect: 'remove',
    success: 204,
  }),
}
