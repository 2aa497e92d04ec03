// The commands that follow from the contract by rule, one for every endpoint: an endpoint that is added has its command at once.
// 1. Ids of the path are positionals, except the project. 2. Members of body and query are options. 3. What an endpoint leads to is waited
//    for. 4. What removes is confirmed, and so is what interrupts a service that is tagged PROD.
import { randomUUID } from 'node:crypto'
import type { TSchema } from 'typebox'
import { api, type EndpointName } from '#contract/api.ts'
import { commandOf, effectOf } from '#contract/command.ts'
import { type Endpoint, isRole } from '#contract/endpoint.ts'
import { factsOf } from '#contract/example.ts'
import { isPathIdName, type PathIdName } from '#contract/id.ts'
import { parseSize, type SizeInput } from '#contract/size.ts'
import type { Input, Options, Positional } from '../command.ts'
import { common_options, project_option, type UserCommand, wait_options, yes_option } from './context.ts'
import { type Extra, extras, option_names, verb_aliases } from './extras.ts'
import { jsonFrom, kebabOf, optionOf, valueOf } from './member.ts'

/** What a positional is called that stands for an id of the path. */
export const id_words = {
  project_id: 'project',
  service_id: 'service',
  replica_set_id: 'replica-set',
  snapshot_id: 'snapshot',
  user_id: 'member',
  vpc_id: 'vpc',
  peering_id: 'peering',
  public_key: 'token',
} as const satisfies Record<PathIdName, string>

export type Derived = UserCommand & { endpoint: EndpointName }

export function derivedCommands(): Derived[] {
  // Object.keys forgets the names that the table's type has.
  return (Object.keys(api) as EndpointName[]).map((name) => derivedCommand(name, api[name], extras[name] ?? {}))
}

function derivedCommand(name: EndpointName, endpoint: Endpoint, extra: Extra): Derived {
  const { noun, verb } = commandOf(endpoint)
  const aliases = [...(verb_aliases[verb] ?? []), ...(extra.aliases ?? [])]
  return {
    endpoint: name,
    name: `${noun} ${verb}`,
    aliases,
    summary: `${endpoint.summary}.`,
    details: detailsOf(endpoint),
    positionals: positionalsOf(endpoint),
    options: optionsOf(endpoint, extra),
    ...(endpoint.body !== undefined && { whole: 'body' }),
    run: async (context) => {
      const { runEndpoint } = await import('./run-endpoint.ts')
      return runEndpoint({ name, endpoint, extra }, context)
    },
  }
}

function detailsOf({ description, access, accepts }: Endpoint): string {
  const who = isRole(access) ? `Needs at least the role ${access}.` : ''
  const when =
    accepts === undefined ? '' : `Possible while the service is ${accepts.filter((one) => one !== 'stuck').join(', ')}.`
  return [description, who, when].filter(Boolean).join('\n')
}

export function pathIdsOf({ path }: Pick<Endpoint, 'path'>): PathIdName[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name).filter(isPathIdName)
}

function positionalsOf(endpoint: Endpoint): Positional[] {
  const ids = pathIdsOf(endpoint).filter((name) => name !== 'project_id')
  const removed = effectOf(endpoint) === 'remove' ? ids.at(-1) : undefined
  const of_path = ids.map((name): Positional => {
    const may_be_chosen_before = name === 'service_id' && name !== removed
    return { name: id_words[name], ...(may_be_chosen_before && { optional: true as const }) }
  })
  const has_name = membersOf(endpoint.body).some(({ name, is_required }) => name === 'name' && is_required)
  return has_name ? [...of_path, { name: 'name', or_option: true }] : of_path
}

function optionsOf(endpoint: Endpoint, extra: Extra): Options {
  const ids = pathIdsOf(endpoint)
  const members = [...membersOf(endpoint.body), ...membersOf(endpoint.query)]
  const shown = members.filter(({ name }) => extra.hidden?.includes(name) !== true)
  const own = shown.map(({ name, schema, is_required }) => [
    optionNameOf(name),
    optionOf(name, schema, is_required && name !== 'name' && !isOfSize(name)),
  ])
  return {
    ...Object.fromEntries(own),
    ...extra.options,
    ...(endpoint.body !== undefined && { body: { value: 'json|@file|-', description: 'The whole body as JSON.' } }),
    ...(endpoint.follows !== undefined && wait_options),
    ...(mayAsk(endpoint) && yes_option),
    ...(ids.includes('project_id') && project_option),
    ...common_options,
  }
}

export function mayAsk(endpoint: Endpoint): boolean {
  return effectOf(endpoint) === 'remove' || endpoint.interrupts === true
}

export type Member = { name: string; schema: TSchema; is_required: boolean }

export function membersOf(schema: TSchema | undefined): Member[] {
  if (schema === undefined) return []
  const { properties = {}, required = [] } = factsOf(schema)
  return Object.entries(properties).map(([name, member]) => ({
    name,
    schema: member,
    is_required: required.includes(name),
  }))
}

/** One of a size's two members implies the other. */
function isOfSize(name: string): boolean {
  return name === 'cpu_millis' || name === 'memory_gbs'
}

function optionNameOf(name: string): string {
  return option_names[name] ?? kebabOf(name)
}

export function queryFrom({ query }: Endpoint, input: Input): Record<string, unknown> {
  return given(membersOf(query), input)
}

/** Undefined where the endpoint takes none. */
export function bodyFrom({ body }: Endpoint, extra: Extra, input: Input): Record<string, unknown> | undefined {
  if (body === undefined) return undefined
  const members = membersOf(body).filter(({ name }) => extra.hidden?.includes(name) !== true)
  const raw = input.text('body')
  const whole = raw === undefined ? {} : Object(jsonFrom('--body', raw))
  const made = { ...whole, ...given(members, input) }
  const with_size = members.some(({ name }) => name === 'cpu_millis') ? { ...made, ...impliedSize(made) } : made
  return extra.body?.(input, with_size) ?? with_size
}

function given(members: readonly Member[], input: Input): Record<string, unknown> {
  const values = members.map(({ name, schema }) => [name, valueOf(name, optionNameOf(name), schema, input)] as const)
  return Object.fromEntries(values.filter(([, value]) => value !== undefined))
}

function impliedSize({ cpu_millis, memory_gbs }: SizeInput): SizeInput {
  if ((cpu_millis === undefined) === (memory_gbs === undefined)) return {}
  const size = parseSize({ cpu_millis, memory_gbs }, 'shared', true)
  // What is no size is the server's to refuse, with all sizes in its words.
  if (size === undefined) return {}
  return size === 'shared' ? { cpu_millis: size, memory_gbs: size } : { ...size }
}

/** So that a repeated request is not a second service. */
export function keyFor({ idempotent }: Endpoint): { idempotency_key?: string } {
  return idempotent === true ? { idempotency_key: randomUUID() } : {}
}
