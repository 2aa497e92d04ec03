// Create a service: check everything, then write one row, its event and its nudge in one transaction. The answer is
// the only place where the password ever appears.
import { createHash, randomBytes } from 'node:crypto'
import type { Static } from 'typebox'
import { Fault } from '#contract/fault.ts'
import type { CreateServiceInput, Service } from '#contract/service.ts'
import type { Provider } from '#providers/provider.ts'
import type { Sql } from '../db.ts'
import { newId } from '../id.ts'
import { nudge } from '../work.ts'
import type { ServiceContext } from './context.ts'
import { insertEvent } from './events.ts'
import { findRepeat, insertIdempotencyKey } from './idempotency.ts'
import { newPassword, newVerifier, passwordOf } from './password.ts'
import {
  extensionsOf,
  invalid,
  parseName,
  parseRegion,
  parseSizeInput,
  services_per_project_max,
  serviceTypeOf,
  serviceView,
  sizeColumnsOf,
} from './rules.ts'
import { countServices, insertService, listPorts, type NewService, type ServiceRow } from './store.ts'

type Input = Static<typeof CreateServiceInput>
type Request = { project_id: string; input: Input; idempotency_key: string | undefined }

const endpoint_attempts_max = 20

export async function createService(context: ServiceContext, request: Request): Promise<Service> {
  const { db } = context
  const { project_id, input, idempotency_key } = request
  const { provider, described } = await parseInput(context, input)
  const viewOf = (row: ServiceRow, initial_password: string): Service => ({
    ...serviceView(row, { now: new Date(), volume_type: provider.volume_type }),
    initial_password,
  })
  const service_id = newId()
  const salt = randomBytes(16)
  const password = idempotency_key === undefined ? newPassword() : passwordOf(idempotency_key, salt)
  const wanted = { ...described, service_id, project_id, password_verifier: await newVerifier(password) }
  if (idempotency_key === undefined) {
    return viewOf(await db.transaction((tx) => insertCreated(tx, provider, wanted)), password)
  }
  const repeatable = { project_id, idempotency_key, request_hash: hashOf(input) }
  const row = await db.transaction(async (tx) => {
    const first = await insertIdempotencyKey(tx, { ...repeatable, salt, service_id })
    return first ? insertCreated(tx, provider, wanted) : undefined
  })
  if (row !== undefined) return viewOf(row, password)
  const repeat = await findRepeat(db, repeatable)
  if (repeat === undefined) throw new Fault('CONFLICT', 'this Idempotency-Key expired just now; choose a new key')
  return viewOf(repeat.row, passwordOf(idempotency_key, repeat.salt))
}

type Described = Omit<NewService, 'service_id' | 'project_id' | 'host' | 'port' | 'password_verifier'>

async function parseInput(
  context: ServiceContext,
  input: Input,
): Promise<{ provider: Provider; described: Described }> {
  const problems: string[] = []
  const addons = input.addons ?? []
  const name = parseName(input.name, problems)
  const size = parseSizeInput(input, true, problems)
  const region_code = parseRegion(input.region_code, [...context.providers.keys()], problems)
  const extensions = extensionsOf(addons)
  if ((input.replica_count ?? 0) > 0) {
    problems.push('/replica_count: this installation does not offer high-availability replicas; leave it out or send 0')
  }
  const provider = context.providers.get(region_code)
  const refusal = await provider?.refusalOf({ size, extensions })
  if (refusal !== undefined) problems.push(refusal)
  if (provider === undefined || problems.length > 0) throw invalid(problems)
  const described: Described = {
    name,
    region_code,
    service_type: serviceTypeOf(addons),
    environment: input.environment_tag ?? 'DEV',
    ...sizeColumnsOf(size),
    extensions,
  }
  return { provider, described }
}

async function insertCreated(tx: Sql, provider: Provider, service: Omit<NewService, 'host' | 'port'>) {
  if ((await countServices(tx, service.project_id, services_per_project_max)) >= services_per_project_max) {
    const limit = `a project holds at most ${services_per_project_max} services`
    throw new Fault('QUOTA_EXCEEDED', `${limit}; delete one, or create another project`)
  }
  const row = await insertAtFreeEndpoint(tx, provider, service)
  await insertEvent(tx, row.service_id, 'created', `created as ${row.name}`)
  await nudge(tx, 'service', row.service_id)
  return row
}

/** Requests at the same time may pick the same port; the constraint lets one have it and the others pick again. */
async function insertAtFreeEndpoint(tx: Sql, provider: Provider, service: Omit<NewService, 'host' | 'port'>) {
  const taken = new Set(await listPorts(tx, provider.region_code))
  for (let attempt = 0; attempt < endpoint_attempts_max; attempt += 1) {
    const endpoint = await provider.newEndpoint(taken)
    const row = await insertService(tx, { ...service, ...endpoint })
    if (row !== undefined) return row
    taken.add(endpoint.port)
  }
  throw new Fault('UNAVAILABLE', 'no free port was found for the service; repeat the request', {
    retry_after_seconds: 1,
  })
}

/** Two bodies that say the same in another order of members are the same request. */
function hashOf(input: Input): Buffer {
  const members = Object.entries(input).sort(([a], [b]) => (a < b ? -1 : 1))
  return createHash('sha256').update(JSON.stringify(members)).digest()
}
