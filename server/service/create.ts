// Create a service: check everything that can be wrong at once, then make it.
import type { Static } from 'typebox'
import { checked, type Problem } from '#contract/problem.ts'
import type { Service } from '#contract/service.ts'
import type { CreateServiceInput } from '#contract/service-input.ts'
import { getProvider, parseRegion, refusedBy } from '../regions.ts'
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
  const { region_code, size, extensions, replicas, expires_at } = checked((problems) =>
    parseCreation(context, input, problems),
  )
  const provider = getProvider(context.providers, region_code)
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

/** Of the members that are there, beyond their schema. */
export function parseCreation({ providers }: ServiceContext, input: Partial<Input>, problems: Problem[]) {
  const size = parseSizeInput(input, { shared: true }, problems)
  const region_code = parseRegion(input.region_code, providers, problems)
  const { replica_count = 0, sync_replica_count = 0 } = input
  const replicas = { replica_count, sync_replica_count }
  const replica_problem = replicaProblem(replicas)
  if (replica_problem !== undefined) problems.push(replica_problem)
  const expires_at = parseExpiry(input.expires_at, new Date(), problems, input.environment_tag)
  const extensions = extensionsOf(input.addons ?? [])
  problems.push(...refusedBy(providers.get(region_code)?.service.refusal({ size, extensions })))
  return { region_code, size, extensions, replicas, expires_at }
}
