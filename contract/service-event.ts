// The events of a service: what happened to it, for people. Each has a kind, so that programs can tell them apart.
import { Type } from 'typebox'
import { choice, moment, text } from './schema.ts'

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
] as const
export type ServiceEventKind = (typeof service_event_kinds)[number]

export const ServiceEvent = Type.Object(
  {
    time: moment('When it happened.'),
    kind: choice(service_event_kinds, 'What kind of event it is.', 'settled'),
    message: text('What happened, in words.', 'everything wanted holds (generation 3)'),
  },
  { $id: 'ServiceEvent', description: 'Something that happened to a service.' },
)
