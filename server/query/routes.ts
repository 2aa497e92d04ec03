// One SQL statement in a service, for a caller of the API. The region runs it as a role of its own (providers/postgres/query-role.ts); here are who
// may ask, how many at once, and what a refusal of PostgreSQL is for the caller. No text of it is stored or logged here.
import { query_defaults, type query_endpoints, type QueryResult } from '#contract/query.ts'
import { Fault } from '#contract/fault.ts'
import { invalidRequest, ofRequest } from '#contract/problem.ts'
import type { Offered, RegionFacts } from '#providers/provider.ts'
import type { Config } from '../config.ts'
import { newGates } from '../http/gate.ts'
import type { Handlers } from '../http/handler.ts'
import { getProvider } from '../regions.ts'
import { getService } from '../service/change.ts'
import type { ServiceContext } from '../service/context.ts'
import { requireStatus } from '../service/rules.ts'

const limits = {
  at_once_max: 4,
  waiting_max: 16,
  refusal: () =>
    new Fault('RATE_LIMITED', 'too many queries in this service at once; wait for their answers first', {
      retry_after_seconds: 2,
    }),
}

export function queryHandlers(
  { db, providers }: Pick<ServiceContext, 'db' | 'providers'>,
  { sql_api }: Pick<Config, 'sql_api'>,
): Pick<Handlers, keyof typeof query_endpoints> {
  const enter = newGates(limits)
  return {
    runQuery: async ({ params, body, caller }) => {
      const service = await getService(db, params)
      requireStatus(service, params.accepts, new Date())
      const { service_id, region_code } = service
      const provider = getProvider(providers, region_code)
      const offered = queriesOffered(provider.facts(), sql_api)
      if (!offered.offered) throw invalidRequest([ofRequest(offered.reason)])
      const { query: statement, parameters = [], ...given } = body
      const application_name = `howdah user ${caller.user.id}`
      const spec = { ...query_defaults, ...given, statement, parameters, application_name }
      const answer = await enter(service_id, () => provider.service.query(service_id, spec))
      if ('unavailable' in answer) throw new Fault('UNAVAILABLE', answer.unavailable, { retry_after_seconds: 2 })
      if ('refused' in answer) {
        const { refused, details } = answer
        throw new Fault('INVALID_REQUEST', refused, details === undefined ? {} : { details })
      }
      // The contract's lists can be written to, the provider's cannot.
      return answer as QueryResult
    },
  }
}

/** What the region says, unless the operator has switched it off. */
export function queriesOffered({ queries }: Pick<RegionFacts, 'queries'>, sql_api: Config['sql_api']): Offered {
  const reason = 'statements through the API are switched off here; an operator allows them with --sql-api on'
  return sql_api === 'off' ? { offered: false, reason } : queries
}
