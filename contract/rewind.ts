// A service goes back in time, itself and not as a fork; and a fork to what its parent is now.
import { endpoint } from './endpoint.ts'
import { input, momentInput } from './schema.ts'
import { Service } from './service.ts'
import { accepted_statuses } from './service-status.ts'

const one = '/projects/{project_id}/services/{service_id}'
const tag = 'Snapshots'

export const rewind_endpoints = {
  rewindService: endpoint({
    method: 'POST',
    path: `${one}/rewind`,
    summary: 'Take a service itself back to a moment',
    description:
      'Asynchronous. Endpoint and master password stay, replicas and replica sets follow, and open connections end once, when the data of the moment is ready. The state before is kept as a snapshot of kind `rewind`; every moment before the rewind can still be restored as it was. If it cannot be done, the service stays as it is, and an event says why.',
    tag,
    access: 'developer',
    interrupts: true,
    follows: 'service',
    accepts: accepted_statuses.rewind,
    body: input(
      { target_time: momentInput('The moment, within what `restorable` says.') },
      { target_time: '2026-11-15T11:55:00Z' },
    ),
    faults: ['CONFLICT'],
    success: 202,
    output: Service,
  }),
  undoRewind: endpoint({
    method: 'POST',
    path: `${one}/undoRewind`,
    summary: 'Take a service back to the state before its last rewind',
    description: 'Asynchronous, and itself a rewind: undone once more, it leads to the state that it leaves now.',
    tag,
    access: 'developer',
    interrupts: true,
    follows: 'service',
    accepts: accepted_statuses.rewind,
    faults: ['CONFLICT'],
    success: 202,
    output: Service,
  }),
  resetService: endpoint({
    method: 'POST',
    path: `${one}/reset`,
    summary: 'Make a fork again what its parent is now',
    description:
      'Asynchronous. Id, endpoint and master password stay, and a mask is run again. What the fork had is lost, with its snapshots. The parent is copied as by a fork NOW.',
    tag,
    access: 'developer',
    interrupts: true,
    follows: 'service',
    accepts: accepted_statuses.rewind,
    faults: ['CONFLICT'],
    success: 202,
    output: Service,
  }),
}
