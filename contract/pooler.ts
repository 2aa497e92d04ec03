// The connection pooler of a service. Both verbs answer when the pooler is on, or off.
import { endpoint } from './endpoint.ts'
import { Message } from './schema.ts'
import { accepted_statuses } from './service-status.ts'

const one = '/projects/{project_id}/services/{service_id}'
const tag = 'Services'

export const pooler_endpoints = {
  enablePooler: endpoint({
    method: 'POST',
    path: `${one}/enablePooler`,
    summary: 'Enable the connection pooler',
    description: 'The answer comes when it accepts logins; `connection_pooler` of the service says where.',
    tag,
    access: 'developer',
    accepts: accepted_statuses.pooler,
    faults: ['CONFLICT'],
    success: 200,
    output: Message,
  }),
  disablePooler: endpoint({
    method: 'POST',
    path: `${one}/disablePooler`,
    summary: 'Disable the connection pooler',
    description: 'Its port stays reserved for it.',
    tag,
    access: 'developer',
    interrupts: true,
    accepts: accepted_statuses.pooler,
    faults: ['CONFLICT'],
    success: 200,
    output: Message,
  }),
}
