// The events of a service and of a project: as a list, and as a list that goes on.
import type { event_endpoints, EventQuery } from '#contract/event.ts'
import { event_id_pattern, events_max } from '#contract/event.ts'
import { invalidRequest } from '#contract/problem.ts'
import type { HandlerRequest, Handlers, TailPage, Tails } from '../http/handler.ts'
import { unknownEventId } from '../http/stream.ts'
import { type EventRow, type EventsWanted, listEvents } from '../event.ts'
import { getService } from './change.ts'
import type { ServiceContext } from './context.ts'

type Names = keyof typeof event_endpoints

const id_form = new RegExp(event_id_pattern)

export function eventHandlers({ db, settled }: Pick<ServiceContext, 'db' | 'settled'>): Pick<Handlers, Names> {
  return {
    listServiceEvents: async ({ params, query }) => {
      await getService(db, params)
      return (await listEvents(db, wantedOf(params, query))).map(serviceEventOf)
    },
    listProjectEvents: async ({ params, query, wait_seconds }) => {
      const read = () => listEvents(db, wantedOf({ ...params, ...query }, query))
      const waits = query.after !== undefined && wait_seconds > 0
      const rows = waits
        ? await settled.see(params.project_id, read, ({ length }) => length > 0, wait_seconds * 1000)
        : await read()
      const newest = query.after === undefined ? rows[0] : rows.at(-1)
      return { entries: rows.map(projectEventOf), ...(newest && { last_cursor: String(newest.id) }) }
    },
  }
}

export function eventTails({ db, settled }: Pick<ServiceContext, 'db' | 'settled'>): Pick<Tails, Names> {
  const readAfter = async (wanted: EventsWanted, after: string | undefined) => {
    if (wanted.before !== undefined) throw refusedBefore('does not apply to a list that goes on')
    if (after !== undefined && !id_form.test(after)) throw unknownEventId()
    const from = after === undefined ? wanted.after : Number(after)
    const rows = await listEvents(db, { ...wanted, after: from })
    return { rows: from === undefined ? rows.toReversed() : rows, from: from ?? 0 }
  }
  const watch = ({ params }: HandlerRequest<Names>, onNews: () => void) => settled.watch(params.project_id, onNews)
  return {
    listServiceEvents: {
      read: async ({ params, query }, after) => {
        // Looked for before its events are read: the last of a service that is removed is told before the list ends.
        const missing = await getService(db, params).then(
          () => undefined,
          (error: unknown) => error,
        )
        if (missing !== undefined && after === undefined) throw missing
        const read = await readAfter(wantedOf(params, query), after)
        if (missing !== undefined && read.rows.length === 0) throw missing
        return pageOf(read, serviceEventOf)
      },
      watch,
    },
    listProjectEvents: {
      read: async ({ params, query }, after) =>
        pageOf(await readAfter(wantedOf({ ...params, ...query }, query), after), projectEventOf),
      watch,
    },
  }
}

function wantedOf(of: { project_id: string; service_id?: string }, query: EventQuery): EventsWanted {
  const { project_id, service_id } = of
  const { kinds = [], limit = events_max, after, before } = query
  if (after !== undefined && before !== undefined)
    throw refusedBefore('must not be sent with after, which goes the other way')
  return { project_id, service_id, kinds, limit, after: numberOf(after), before: numberOf(before) }
}

const numberOf = (id: string | undefined) => (id === undefined ? undefined : Number(id))

const refusedBefore = (message: string) => invalidRequest([{ path: 'query/before', message }])

function pageOf<Entry>(read: { rows: EventRow[]; from: number }, entryOf: (row: EventRow) => Entry): TailPage<Entry> {
  const entries = read.rows.map((row) => ({ id: String(row.id), entry: entryOf(row) }))
  return { entries, at: entries.at(-1)?.id ?? String(read.from) }
}

function serviceEventOf({ id, time, kind, message }: EventRow) {
  return { id: String(id), time: time.toISOString(), kind, message }
}

function projectEventOf(row: EventRow) {
  return { ...serviceEventOf(row), service_id: row.service_id }
}
