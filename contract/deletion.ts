// How services end: by themselves at a moment that is set.
import { endpoint } from './endpoint.ts'
import { input, momentOrNull } from './schema.ts'
import { Service } from './service.ts'
import { accepted_statuses } from './service-status.ts'

const one = '/projects/{project_id}/services/{service_id}'
const tag = 'Services'

export const deletion_endpoints = {
  setExpiry: endpoint({
    method: 'POST',
    path: `${one}/setExpiry`,
    summary: 'Set when a service is deleted by itself',
    description:
      'An event `expiring` warns an hour before and ten minutes before, or at once when it is nearer. At the moment the service is deleted, within a minute; a server that was down then does it when it starts.',
    tag,
    access: 'developer',
    accepts: accepted_statuses.describe,
    body: input(
      { expires_at: momentOrNull('At most 3650 days from now; null: never.', '2030-01-31T12:00:00Z') },
      { expires_at: '2030-01-31T12:00:00Z' },
    ),
    success: 200,
    output: Service,
  }),
}
