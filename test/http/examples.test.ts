// Every example that the contract gives of a body or a query, sent to a real server: it is taken as it stands. Ids in paths
// are those of what the examples themselves have made.
import { beforeAll, expect, test } from 'vitest'
import type { EndpointName } from '#contract/api.ts'
import { exampleOf } from '#contract/example.ts'
import type { ReadReplicaSet } from '#contract/replica-set.ts'
import { shared } from '#test/shared.ts'
import { newCall, type ServiceOrFault } from '../call.ts'
import { openCallers, userCredential, userVerifier } from './callers.ts'
import { reasonsAgainst } from '../offered.ts'
import { until } from '../until.ts'
import { startInRegion } from './region.ts'
import { pathOf, rows } from './requests.ts'

const howdah = shared(() => startInRegion({ verifiers: [userVerifier] }))
const callers = shared(() => openCallers(howdah))
let credential: string

beforeAll(async () => {
  credential = userCredential(await callers.newToken('owner'))
})

const with_example = rows.filter(({ endpoint }) => endpoint.body !== undefined || endpoint.query !== undefined)

/** What is made first, so that the others have something to be about. */
const makers: readonly EndpointName[] = ['createService', 'createVpc', 'addMember', 'createReplicaSet']

/** Of an example that names what does not exist here, or asks for what is so already. */
const refusals: { [Name in EndpointName]?: string } = {
  setExpiry: 'CONFLICT',
  attachToVpc: 'NOT_FOUND',
  detachFromVpc: 'CONFLICT',
}

/** A moment at which no service of this test was there. */
const of_another_time: readonly EndpointName[] = ['rewindService']

test('every example is taken as it stands', async () => {
  const made = new Map<string, string>()
  const reasons = await reasonsAgainst(howdah)
  const in_order = [
    ...makers.map((maker) => with_example.find(({ name }) => name === maker)),
    ...with_example.filter(({ name }) => !makers.includes(name)),
  ].filter((row) => row !== undefined)
  for (const row of in_order) {
    const { name, endpoint } = row
    // Where VPCs are not offered there is none.
    if (endpoint.path.includes('{vpc_id}') && !made.has('vpc_id')) continue
    const service_id = made.get('service_id')
    if (service_id !== undefined && endpoint.accepts !== undefined) await howdah.untilStatus(service_id, 'READY')
    const set_id = made.get('replica_set_id')
    if (set_id !== undefined && endpoint.path.includes('{replica_set_id}')) await untilActive(service_id ?? '', set_id)
    const path = pathOf(row, { project_id: howdah.project_id, ...(service_id !== undefined && { service_id }), made })
    const query = endpoint.query === undefined ? '' : `?${queryOf(exampleOf(endpoint.query))}`
    const body = endpoint.body && exampleOf(endpoint.body)
    const answer = await newCall(howdah.server.api_url, credential)(endpoint.method, path + query, body)
    const said = `${name}: ${JSON.stringify(answer.body)}`
    // What this host has no room or no program for is no fault of the example: such a refusal is of no member.
    if (reasons.some((reason) => answer.body?.details?.includes(reason))) continue
    if (of_another_time.includes(name)) expect(answer.body.details, said).toContain('is outside the moments')
    else if (answer.body?.code === 'INVALID_REQUEST') expect(answer.body.details, said).not.toMatch(/^(query)?\//m)
    else if (refusals[name] !== undefined) expect(answer.body.code, said).toBe(refusals[name])
    else expect(answer.status, said).toBe(endpoint.success)
    if (makers.includes(name)) remember(made, name, answer.body)
  }
})

async function untilActive(service_id: string, replica_set_id: string): Promise<void> {
  await until(
    async () => {
      const { body } = await howdah.call<ReadReplicaSet[]>('GET', `${howdah.services}/${service_id}/replicaSets`)
      return body.some(({ id, status }) => id === replica_set_id && status === 'active')
    },
    { what: 'the replica set is active' },
  )
}

function remember(
  made: Map<string, string>,
  name: EndpointName,
  answer: ServiceOrFault & { id?: string; user_id?: string },
) {
  const { service_id, user_id, id } = answer
  if (name === 'createService') made.set('service_id', service_id)
  if (name === 'addMember' && user_id !== undefined) made.set('user_id', user_id)
  if (name === 'createVpc' && id !== undefined) made.set('vpc_id', id)
  if (name === 'createReplicaSet' && id !== undefined) made.set('replica_set_id', id)
}

function queryOf(example: unknown): string {
  const pairs = Object.entries(example ?? {}).flatMap(([name, value]) =>
    [value].flat().map((one) => [name, String(one)]),
  )
  return new URLSearchParams(pairs).toString()
}
