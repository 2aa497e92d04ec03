// Reads the log of a service: finds out whose it is, asks its region's provider, and answers in the mode asked for.
import { Fault } from '#contract/fault.ts'
import { invalidRequest } from '#contract/problem.ts'
import type { LogRefusal } from '#providers/provider.ts'
import type { Handlers } from '../handler.ts'
import { getService } from '../service/change.ts'
import type { ServiceContext } from '../service/context.ts'
import { parseLogRequest } from './rules.ts'

export function serviceLogHandlers({ db, providers }: ServiceContext): Pick<Handlers, 'getServiceLogs'> {
  return {
    getServiceLogs: async ({ params, query: request }) => {
      const service = await getService(db, params)
      const problems: string[] = []
      const { query, by_cursor } = parseLogRequest(request, problems)
      if (problems.length > 0) throw invalidRequest(problems)
      const provider = providers.get(service.region_code)
      if (provider === undefined) {
        throw new Fault('UNAVAILABLE', `the region ${service.region_code} cannot be reached from this server`)
      }
      const page = await provider.logs(service.service_id, query)
      if ('refused' in page) throw invalidRequest([problemOf(page)])
      const logs = page.entries.map(({ message }) => message)
      if (!by_cursor) return { logs }
      const { cursor } = page
      return { logs, entries: [...page.entries], ...(cursor && { lastCursor: cursor, last_cursor: cursor }) }
    },
  }
}

function problemOf({ refused }: LogRefusal): string {
  return refused === 'node'
    ? 'query/node: the service has no such node; leave it out to read the primary'
    : 'query/cursor: must be the lastCursor of an earlier answer for this service and node'
}
