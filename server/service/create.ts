// Create a service: check everything that can be wrong at once, then make it.
import type { Static } from 'typebox'
import { invalidRequest } from '#contract/problem.ts'
import type { CreateServiceInput, Service } from '#contract/service.ts'
import type { ServiceContext } from './context.ts'
import { makeService } from './make.ts'
import { extensionsOf, parseName, parseRegion, parseSizeInput, serviceTypeOf, sizeColumnsOf } from './rules.ts'

type Input = Static<typeof CreateServiceInput>
type Request = { project_id: string; input: Input; idempotency_key: string | undefined }

export async function createService(context: ServiceContext, request: Request): Promise<Service> {
  const { project_id, input, idempotency_key } = request
  const problems: string[] = []
  const addons = input.addons ?? []
  const name = parseName(input.name, problems)
  const size = parseSizeInput(input, { shared: true }, problems)
  const region_code = parseRegion(input.region_code, [...context.providers.keys()], problems)
  const extensions = extensionsOf(addons)
  if ((input.replica_count ?? 0) > 0) {
    problems.push('/replica_count: this installation does not offer high-availability replicas; leave it out or send 0')
  }
  const provider = context.providers.get(region_code)
  const refusal = await provider?.refusalOf({ size, extensions })
  if (refusal !== undefined) problems.push(refusal)
  if (provider === undefined || problems.length > 0) throw invalidRequest(problems)
  const described = {
    name,
    region_code,
    service_type: serviceTypeOf(addons),
    environment: input.environment_tag ?? 'DEV',
    ...sizeColumnsOf(size),
    extensions,
  }
  return makeService(context, {
    provider,
    project_id,
    described,
    request: input,
    idempotency_key,
    event: `created as ${name}`,
  })
}
