// The events of a service and of all services of a project: what happened to them, for people. Each has a kind, so that programs
// can tell them apart, and an id: those of a project grow in the order in which the events can be read.
import type { Static } from 'typebox'
import { endpoint } from './endpoint.ts'
import { ServiceId } from './id.ts'
import { choice, input, integer, moment, text } from './schema.ts'
import { Type } from './type.ts'

/** What the server and the providers tell. A kind that is no longer told stays: old events keep it. */
export const service_event_kinds = [
  'created',
  'requested',
  'forked',
  'settled',
  'progress',
  'setback',
  'unstable',
  'recovered',
  'removed',
  'snapshot',
  'backup',
  'drill',
  'restarted',
  'changed',
  'healed',
  'session ended',
  'disk_quota',
  'replica',
  'switchover',
  'primary lost',
  'fenced',
  'not replaced',
  'elected',
  'promoted',
  'expiring',
  'expired',
  'kept',
  'rewound',
] as const
export type ServiceEventKind = (typeof service_event_kinds)[number]

export const event_id_pattern = '^[0-9]{1,15}$'
export const events_max = 500

const members = {
  id: text('Greater than that of every earlier event of the project.', '1042'),
  time: moment('When it happened.'),
  kind: choice(service_event_kinds, 'What kind of event it is.', 'settled'),
  message: text('What happened, in words.', 'every change that was asked for is in effect'),
}

const ServiceEvent = Type.Object(members, {
  $id: 'ServiceEvent',
  description: 'Something that happened to a service.',
})

export const ProjectEvent = Type.Object(
  { ...members, service_id: ServiceId },
  { $id: 'ProjectEvent', description: 'Something that happened to a service of the project.' },
)

const query = {
  after: Type.Optional(
    text('The id of an event: those after it only, and the oldest of them first.', '1042', {
      maxLength: 15,
      pattern: event_id_pattern,
    }),
  ),
  before: Type.Optional(
    text('The id of an event: those before it only. That of the oldest so far leads on to the older ones.', '1042', {
      maxLength: 15,
      pattern: event_id_pattern,
    }),
  ),
  limit: Type.Optional(
    integer('How many events at most; 500 by default.', 50, { minimum: 1, maximum: events_max, default: events_max }),
  ),
  kinds: Type.Optional(
    Type.Array(choice(service_event_kinds, 'A kind.', 'settled'), {
      maxItems: service_event_kinds.length,
      description: 'Keep these only. Repeat it for several.',
      examples: [['settled', 'unstable']],
    }),
  ),
}
const EventQuery = input(query, { limit: 50 })
const ProjectEventQuery = input(
  { ...query, service_id: Type.Optional({ ...ServiceId, maxLength: 10 }) },
  { kinds: ['settled', 'unstable'] },
)
export type EventQuery = Static<typeof EventQuery>

const tag = 'Events'

export const event_endpoints = {
  listServiceEvents: endpoint({
    method: 'GET',
    path: '/projects/{project_id}/services/{service_id}/events',
    summary: 'What happened to a service, newest first',
    tag,
    access: 'viewer',
    query: EventQuery,
    streams: true,
    success: 200,
    output: Type.Array(ServiceEvent),
  }),
  listProjectEvents: endpoint({
    method: 'GET',
    path: '/projects/{project_id}/events',
    summary: 'What happened to the services of a project, newest first',
    tag,
    access: 'viewer',
    query: ProjectEventQuery,
    streams: true,
    waits: 'entries',
    success: 200,
    output: Type.Object({
      entries: Type.Array(ProjectEvent, { description: 'Newest first; with `after` oldest first.' }),
      last_cursor: Type.Optional(
        text('The id of the newest of them: send it as `after` for those that come later.', '1042'),
      ),
    }),
  }),
}
