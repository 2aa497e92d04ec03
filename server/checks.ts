// The rules that a request can break beside its schemas, for one answer that tells of both. Endpoints are missing here
// whose rules are about members that the schema has refused by then.
import { collected } from '#contract/problem.ts'
import { auditProblems } from './audit/routes.ts'
import type { Checks } from './http/handler.ts'
import { expiryProblems } from './identity/token-rules.ts'
import { parseSeriesInput } from './metric/rules.ts'
import { ownPeerProblems } from './peering/rules.ts'
import { setProblems } from './replica-set/create.ts'
import type { ServiceContext } from './service/context.ts'
import { creationProblems } from './service/create.ts'
import { parseExpiry } from './service/expiry-rules.ts'
import { forkProblems } from './service/fork.ts'
import { cursorProblems } from './service/page.ts'
import { parseHistogramRequest, parseLogRequest } from './service-log/rules.ts'
import { parsePolicy } from './snapshot/policy.ts'
import { vpcProblems } from './vpc/routes.ts'

export function newChecks(context: ServiceContext): Checks {
  return {
    createService: ({ body }) => creationProblems(context, body),
    forkService: ({ body }) => forkProblems(body),
    setExpiry: ({ body }) => collected((problems) => parseExpiry(body.expires_at, new Date(), problems)),
    setSnapshotPolicy: ({ body }) => collected((problems) => parsePolicy(body, problems)),
    listServices: ({ query }) => cursorProblems(query.cursor),
    createReplicaSet: ({ body }) => setProblems(body),
    createVpc: ({ body }) => vpcProblems(context, body),
    createPeering: ({ params, body }) => ownPeerProblems(params, body),
    createToken: ({ body, caller }) => expiryProblems(body.expires_at, caller, new Date()),
    getMetricSeries: ({ body }) => collected((problems) => parseSeriesInput(body, Date.now(), problems)),
    getServiceLogs: ({ query }) => collected((problems) => parseLogRequest(query, problems)),
    getReplicaSetLogs: ({ query }) => collected((problems) => parseLogRequest(query, problems)),
    getLogHistogram: ({ query }) => collected((problems) => parseHistogramRequest(query, Date.now(), problems)),
    listAudit: ({ query }) => auditProblems(query),
  }
}
