// A request to change something leaves an entry in the audit log, whatever becomes of it.
import type { onSendAsyncHookHandler } from 'fastify'
import type { EndpointName } from '#contract/api.ts'
import type { Endpoint } from '#contract/endpoint.ts'
import { addressOf, paramsOf } from './admission.ts'
import type { RecordOutcome } from './handler.ts'

/** Runs when the answer is known and before it is sent. */
export function newAuditHook(
  name: EndpointName,
  endpoint: Endpoint,
  recordOutcome: RecordOutcome,
): onSendAsyncHookHandler {
  return async (request, reply) => {
    await recordOutcome({
      name,
      endpoint,
      caller: request.caller,
      role: request.role,
      params: paramsOf(request),
      output: request.output,
      status: reply.statusCode,
      code: request.fault_code,
      address: addressOf(request),
      user_agent: request.headers['user-agent'],
      request_id: request.id,
    })
  }
}
