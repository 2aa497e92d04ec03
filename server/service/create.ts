// Create a service: check everything that can be wrong at once, then make it.
import type { Static } from 'typebox'
import { invalidRequest, type Problem } from '#contract/problem.ts'
import type { Service } from '#contract/service.ts'
import type { CreateServiceInput } from '#contract/service-input.ts'
import { parseRegion, problemsOf } from '../regions.ts'
import type { ServiceContext } from './context.ts'
import { parseExpiry } from './expiry-rules.ts'
import { findMade, makeService } from './make.ts'
import { extensionsOf, parseSizeInput, replicaProblem, serviceTypeOf, sizeColumnsOf } from './rules.ts'

type Input = Static<typeof CreateServiceInput>
type Request = { project_id: string; input: Input; idempotency_key: string | undefined }

export async function createService(context: ServiceContext, request: Request): Promise<Service> {
  const { project_id, input, idempotency_key } = request
  const repeatable = { project_id, idempotency_key, request: input }
  const made = await findMade(context, repeatable)
  if (made !== undefined) return made
  const { problems, provider, region_code, size, extensions, replicas, expires_at } = parseCreation(context, input)
  if (provider === undefined || problems.length > 0) throw invalidRequest(problems)
  const name = input.name.trim()
  const wanted = {
    name,
    region_code,
    service_type: serviceTypeOf(input.addons ?? []),
    environment: input.environment_tag ?? 'DEV',
    ...sizeColumnsOf(size),
    extensions,
    ...replicas,
    expires_at,
  }
  return makeService(context, { ...repeatable, provider, wanted, event: `created as ${name}` })
}

/** What is wrong with the members that are there, beyond their schema. */
export function creationProblems(context: ServiceContext, input: Partial<Input>): Problem[] {
  return parseCreation(context, input).problems
}

function parseCreation({ providers }: ServiceContext, input: Partial<Input>) {
  const problems: Problem[] = []
  const size = parseSizeInput(input, { shared: true }, problems)
  const region_code = parseRegion(input.region_code, providers, problems)
  const { replica_count = 0, sync_replica_count = 0 } = input
  const replicas = { replica_count, sync_replica_count }
  const replica_problem = replicaProblem(replicas)
  if (replica_problem !== undefined) problems.push(replica_problem)
  const expires_at = parseExpiry(input.expires_at, new Date(), problems, input.environment_tag)
  const extensions = extensionsOf(input.addons ?? [])
  const provider = providers.get(region_code)
  problems.push(...problemsOf(provider?.service.refusal({ size, extensions })))
  return { problems, provider, region_code, size, extensions, replicas, expires_at }
}
