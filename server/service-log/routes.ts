// Reads the log of a service: finds out whose it is, asks its region's provider, and answers in the requested mode.
// Reads that scan much of a log are bounded for each project: its searches wait for each other, not for others.
import { Fault } from '#contract/fault.ts'
import type { LogEntry } from '#contract/log.ts'
import { invalidRequest, type Problem } from '#contract/problem.ts'
import type { LogQuery, LogRefusal } from '#providers/provider.ts'
import { newGates } from '../http/gate.ts'
import type { Handlers } from '../http/handler.ts'
import { getProvider } from '../regions.ts'
import { getService } from '../service/change.ts'
import type { ServiceContext } from '../service/context.ts'
import { parseLogRequest } from './rules.ts'

const scan_limits = {
  at_once_max: 2,
  waiting_max: 16,
  refusal: () =>
    new Fault('RATE_LIMITED', 'too many searches through logs of this project at once; wait for their answers first', {
      retry_after_seconds: 2,
    }),
}

export function serviceLogHandlers({ db, providers }: ServiceContext): Pick<Handlers, 'getServiceLogs'> {
  const scan = newGates(scan_limits)
  return {
    getServiceLogs: async ({ params, query: request }) => {
      const service = await getService(db, params)
      const problems: Problem[] = []
      const { query, by_cursor } = parseLogRequest(request, problems)
      if (problems.length > 0) throw invalidRequest(problems)
      const provider = getProvider(providers, service.region_code)
      const read = () => provider.logs(service.service_id, query)
      const page = scansLog(query) ? await scan(service.project_id, read) : await read()
      if ('refused' in page) throw invalidRequest([problemOf(page)])
      const logs = page.entries.map(({ message }) => message)
      if (!by_cursor) return { logs }
      const { cursor } = page
      // A provider tells PostgreSQL's severities as text.
      const entries = page.entries as LogEntry[]
      return { logs, entries, ...(cursor && { lastCursor: cursor, last_cursor: cursor }) }
    },
  }
}

/** Whether it reads more entries than it answers. */
function scansLog({ search, severities, skip }: LogQuery): boolean {
  return search.length > 0 || severities.length > 0 || skip > 0
}

function problemOf({ refused }: LogRefusal): Problem {
  return refused === 'node'
    ? { path: 'query/node', message: 'the service has no such node; leave it out to read the primary' }
    : { path: 'query/cursor', message: 'must be the lastCursor of an earlier answer for this service and node' }
}
