// The tools that follow from the contract by rule, one for every endpoint.
import { api, type EndpointName } from '#contract/api.ts'
import { effectOf } from '#contract/command.ts'
import { type Endpoint, wait_seconds_max } from '#contract/endpoint.ts'
import { isNotFound } from '#contract/fault.ts'
import { objectOf, pathParametersOf } from '#contract/openapi.ts'
import { newKey } from '#contract/retry.ts'
import type { Service } from '#contract/service.ts'
import { toolOf } from '#contract/tool.ts'
import { followedId, isAtRest } from '#contract/wait.ts'
import { type Args, placeOf, projectOf, textOf, type Tool, type ToolAnswer, Unconfirmed, type World } from './tool.ts'

const wait_seconds_default = 30

export function derivedTool(name: EndpointName): Tool {
  const endpoint: Endpoint = api[name]
  const facts = toolOf(name, endpoint)
  const asks_name = effectOf(endpoint) === 'remove' && endpoint.path.endsWith('{service_id}')
  if (asks_name)
    facts.inputSchema.properties['confirm'] = { type: 'string', description: 'Of a PROD service: its name.' }
  return {
    ...facts,
    run: async (world, args) => {
      const ids = await idsOf(endpoint, world, args)
      if (asks_name) await requireConfirmed(world, ids, args)
      const call = world.client[name] as (input: object) => Promise<unknown>
      const [query, body] = [partOf(endpoint.query, args), partOf(endpoint.body, args)]
      // An answer that gets lost is asked for again by clients that repeat, and nothing is made twice.
      const key = endpoint.idempotent === true ? { idempotency_key: newKey() } : {}
      const answer = await call({ ...ids, ...(query && { query }), ...(body && { body }), ...key })
      return await settledAnswer(world, endpoint, ids, answer, args)
    },
  }
}

async function idsOf(endpoint: Endpoint, world: World, args: Args): Promise<Record<string, string>> {
  const names = pathParametersOf(endpoint.path)
  const known = names.includes('service_id')
    ? await placeOf(world, args)
    : names.includes('project_id')
      ? { project_id: await projectOf(world, args) }
      : {}
  const others = names.filter((name) => !(name in known)).map((name) => [name, textOf(args, name)])
  return { ...known, ...Object.fromEntries(others) }
}

function partOf(schema: Endpoint['body'], args: Args): Record<string, unknown> | undefined {
  if (schema === undefined) return undefined
  const names = Object.keys(objectOf(schema).properties ?? {})
  return Object.fromEntries(Object.entries(args).filter(([name]) => names.includes(name)))
}

/** What is tagged PROD is removed by its name only. */
async function requireConfirmed({ client }: World, ids: Record<string, string>, args: Args): Promise<void> {
  const { project_id = '', service_id = '' } = ids
  const { name, metadata } = await client.getService({ project_id, service_id })
  if (metadata.environment !== 'PROD' || args['confirm'] === name) return
  throw new Unconfirmed()
}

async function settledAnswer(
  world: World,
  endpoint: Endpoint,
  ids: Record<string, string>,
  answer: unknown,
  args: Args,
): Promise<ToolAnswer> {
  const made = Object(answer) as Partial<Service>
  const note = made.initial_password === undefined ? undefined : await world.keepPassword(made as Service)
  const service_id = followedId(endpoint, ids, answer)
  const noted = note === undefined ? {} : { note }
  if (service_id === undefined) return { ...noted, data: answer ?? { done: true } }
  const seen = await waitFor(world, { project_id: ids['project_id'] ?? '', service_id }, args, endpoint)
  return { ...noted, data: seen ?? { removed: true } }
}

/** The service at its rest, or as it is when the time is up; undefined once it is removed. */
export async function waitFor(
  { client }: World,
  at: { project_id: string; service_id: string },
  args: Args,
  endpoint: Pick<Endpoint, 'follows'> & Endpoint = api.startService,
): Promise<Service | undefined> {
  const asked = typeof args['wait_seconds'] === 'number' ? args['wait_seconds'] : wait_seconds_default
  const end_ms = performance.now() + Math.min(asked, wait_seconds_max) * 1000
  for (;;) {
    const wait_seconds = Math.max(0, Math.min(10, Math.ceil((end_ms - performance.now()) / 1000)))
    const service = await client.getService({ ...at, wait_seconds }).catch((error: unknown) => {
      if (isNotFound(error)) return undefined
      throw error
    })
    if (isAtRest(endpoint, service) || performance.now() >= end_ms) return service
  }
}
