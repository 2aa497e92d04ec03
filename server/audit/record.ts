// Writes the audit log: one entry for every request of a known caller that wanted to change something, refused ones
// included. Promises:
// 1. The entry is written when the outcome is known and before the answer is sent: a caller that was told of a change finds it
//    in the log. Where the store cannot take it, the entry goes to the server's log instead; the answer stands.
// 2. Ids and outcomes only. A text in place of an id is not repeated: it may be a secret pasted by mistake.
// 3. Requests without a valid credential (401) or beyond their rate (429) leave a line in the server's log only: else they could fill the store.
import { type AuditClient, audit_clients } from '#contract/audit.ts'
import { isRole } from '#contract/endpoint.ts'
import type { Db } from '../store/db.ts'
import type { Caller, Outcome, RecordOutcome } from '../http/handler.ts'
import type { Log } from '../log.ts'
import { isPathId } from '../http/path-id.ts'
import { insertAudit, type NewAudit } from './store.ts'

export function newAuditRecord(db: Db, log: Log): RecordOutcome {
  return async (outcome) => {
    const { caller } = outcome
    if (caller === undefined || outcome.code === 'RATE_LIMITED') return
    const entry = newEntry(outcome, caller)
    try {
      await insertAudit(db, entry)
    } catch (error) {
      log.error({ audit: entry, err: error }, 'an audit entry could not be stored')
    }
  }
}

function newEntry(outcome: Outcome, caller: Caller): NewAudit {
  const { endpoint, params } = outcome
  const made_id = idIn(outcome.output)
  const last_id = Object.entries(params).at(-1)
  return {
    project_id: projectOf(outcome, caller, made_id),
    user_id: Number(caller.user.id),
    email: caller.user.email,
    public_key: caller.type === 'apiKey' ? caller.public_key : null,
    client: clientOf(outcome.user_agent),
    address: outcome.address,
    endpoint: outcome.name,
    method: endpoint.method,
    path: endpoint.path.replaceAll(/\{(\w+)\}/g, (placeholder, name: string) => {
      const id = params[name]
      return id !== undefined && isPathId(name, id) ? id : placeholder
    }),
    resource_id: made_id ?? (last_id && isPathId(...last_id) ? last_id[1] : null),
    status: outcome.status,
    code: outcome.code ?? null,
    request_id: outcome.request_id,
  }
}

/** Only names of ours: any other text is not repeated. */
function clientOf(user_agent = ''): AuditClient | null {
  return audit_clients.find((client) => user_agent.startsWith(`howdah-${client}/`)) ?? null
}

/** Whose log it belongs to: the project of the path if the caller is a member, the one just made, or the token's own. */
function projectOf({ endpoint, role, params }: Outcome, caller: Caller, made_id: string | undefined): string | null {
  if (isRole(endpoint.access) && role !== undefined) return params['project_id'] ?? null
  if (endpoint.path === '/projects' && made_id !== undefined) return made_id
  return caller.type === 'apiKey' ? caller.project.id : null
}

/** The id of what an answer shows: each resource has one of these. */
function idIn(output: unknown): string | undefined {
  if (typeof output !== 'object' || output === null) return undefined
  const found = ['service_id', 'public_key', 'user_id', 'id'].map((name) => (output as Record<string, unknown>)[name])
  return found.find((id) => typeof id === 'string')
}
