// Reads the log of a service: finds out whose it is, asks its region's provider, and answers in the requested mode, or goes on.
// Reads that scan much of a log are bounded for each project: its searches wait for each other, not for others.
import { Fault } from '#contract/fault.ts'
import type { LogEntry } from '#contract/log.ts'
import { invalidRequest, type Problem } from '#contract/problem.ts'
import type { LogQuery, LogRefusal } from '#providers/provider.ts'
import { newGates } from '../http/gate.ts'
import type { Handlers, Tails } from '../http/handler.ts'
import { unknownEventId } from '../http/stream.ts'
import { getProvider } from '../regions.ts'
import { getService } from '../service/change.ts'
import type { ServiceContext } from '../service/context.ts'
import type { ServiceRow } from '../service/store.ts'
import { parseLogRequest, streamProblems } from './rules.ts'

const scan_limits = {
  at_once_max: 2,
  waiting_max: 16,
  refusal: () =>
    new Fault('RATE_LIMITED', 'too many searches through logs of this project at once; wait for their answers first', {
      retry_after_seconds: 2,
    }),
}

type ServiceLog = { handlers: Pick<Handlers, 'getServiceLogs'>; tails: Pick<Tails, 'getServiceLogs'> }

export function newServiceLog({ db, providers }: ServiceContext): ServiceLog {
  const scan = newGates(scan_limits)
  const read = async (service: ServiceRow, query: LogQuery) => {
    const provider = getProvider(providers, service.region_code)
    const page = await (scansLog(query)
      ? scan(service.project_id, () => provider.logs(service.service_id, query))
      : provider.logs(service.service_id, query))
    if ('refused' in page) throw invalidRequest([problemOf(page)])
    return page
  }
  return {
    handlers: {
      getServiceLogs: async ({ params, query: request }) => {
        const service = await getService(db, params)
        const problems: Problem[] = []
        const { query, by_cursor } = parseLogRequest(request, problems)
        if (problems.length > 0) throw invalidRequest(problems)
        const { entries, cursor } = await read(service, query)
        const logs = entries.map(({ message }) => message)
        if (!by_cursor) return { logs }
        return { logs, entries: inContract(entries), ...(cursor && { lastCursor: cursor, last_cursor: cursor }) }
      },
    },
    tails: {
      getServiceLogs: {
        read: async ({ params, query: request }, at) => {
          const service = await getService(db, params)
          const problems = streamProblems(request)
          const { query } = parseLogRequest(request, problems)
          if (problems.length > 0) throw invalidRequest(problems)
          const after = at ?? (await read(service, query)).cursor
          const provider = getProvider(providers, service.region_code)
          const tail = await provider.logTail(service.service_id, { ...query, after })
          if ('refused' in tail) throw tail.refused === 'cursor' ? unknownEventId() : invalidRequest([problemOf(tail)])
          const entries = tail.entries.map(({ entry, at }) => ({ id: at, entry: inContract([entry])[0] as LogEntry }))
          return { entries, at: tail.at }
        },
      },
    },
  }
}

/** A provider tells PostgreSQL's severities as text. */
const inContract = (entries: readonly { message: string }[]) => entries as LogEntry[]

/** Whether it reads more entries than it answers. */
function scansLog({ search, severities, skip }: LogQuery): boolean {
  return search.length > 0 || severities.length > 0 || skip > 0
}

function problemOf({ refused }: LogRefusal): Problem {
  return refused === 'node'
    ? { path: 'query/node', message: 'the service has no such node; leave it out to read the primary' }
    : { path: 'query/cursor', message: 'must be the lastCursor of an earlier answer for this service and node' }
}
