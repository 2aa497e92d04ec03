// The rules that a request can break beside its schemas, for one answer that tells of both. Endpoints are missing here
// whose rules are about members that the schema has refused by then.
import { default_size } from '#contract/size.ts'
import { auditProblems } from './audit/routes.ts'
import type { Checks } from './http/handler.ts'
import { parseTokenExpiry } from './identity/token-rules.ts'
import { parseSeriesInput } from './metric/rules.ts'
import { ownPeerProblems } from './peering/rules.ts'
import { parseSet } from './replica-set/create.ts'
import type { ServiceContext } from './service/context.ts'
import { parseCreation } from './service/create.ts'
import { parseExpiry } from './service/expiry-rules.ts'
import { parseFork } from './service/fork.ts'
import { parseCursor } from './service/page.ts'
import { parseHistogramRequest, parseLogRequest } from './service-log/rules.ts'
import { parsePolicy } from './snapshot/policy.ts'
import { parseVpc } from './vpc/routes.ts'

export function newChecks(context: ServiceContext): Checks {
  return {
    createService: ({ body }, problems) => parseCreation(context, body, problems),
    forkService: ({ body }, problems) => parseFork(body, default_size, problems),
    setExpiry: ({ body }, problems) => parseExpiry(body.expires_at, new Date(), problems),
    setSnapshotPolicy: ({ body }, problems) => parsePolicy(body, problems),
    listServices: ({ query }, problems) => parseCursor(query.cursor, problems),
    createReplicaSet: ({ body }, problems) => parseSet(body, default_size, problems),
    createVpc: ({ body }, problems) => parseVpc(context, body, problems),
    createPeering: ({ params, body }, problems) => problems.push(...ownPeerProblems(params, body)),
    createToken: ({ body, caller }, problems) => parseTokenExpiry(body.expires_at, caller, new Date(), problems),
    getMetricSeries: ({ body }, problems) => parseSeriesInput(body, Date.now(), problems),
    getServiceLogs: ({ query }, problems) => parseLogRequest(query, problems),
    getReplicaSetLogs: ({ query }, problems) => parseLogRequest(query, problems),
    getLogHistogram: ({ query }, problems) => parseHistogramRequest(query, Date.now(), problems),
    listAudit: ({ query }, problems) => problems.push(...auditProblems(query)),
  }
}
