// What the words of a derived command ask for: the ids, the body and the query of its request, and whether a question comes first.
import type { TSchema } from 'typebox'
import { effectOf } from '#contract/command.ts'
import type { Endpoint } from '#contract/endpoint.ts'
import { factsOf } from '#contract/example.ts'
import { isPathIdName, type PathIdName } from '#contract/id.ts'
import { newKey } from '#contract/retry.ts'
import { parseSize, type SizeInput, sizeProblem } from '#contract/size.ts'
import { type Input, UsageError } from '../command.ts'
import { type Extra, option_names } from './extras.ts'
import { jsonFrom, kebabOf, valueOf } from './member.ts'

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
  login_id: 'login',
} as const satisfies Record<PathIdName, string>

export function pathIdsOf({ path }: Pick<Endpoint, 'path'>): PathIdName[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name).filter(isPathIdName)
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

export function optionNameOf(name: string): string {
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
  const cpu = members.find(({ name }) => name === 'cpu_millis')
  const with_size = cpu === undefined ? made : { ...made, ...impliedSize(made, cpu.is_required) }
  return extra.body?.(input, with_size) ?? with_size
}

function given(members: readonly Member[], input: Input): Record<string, unknown> {
  const values = members.map(({ name, schema }) => [name, valueOf(name, optionNameOf(name), schema, input)] as const)
  return Object.fromEntries(values.filter(([, value]) => value !== undefined))
}

function impliedSize({ cpu_millis, memory_gbs }: SizeInput, needs_both: boolean): SizeInput {
  if (needs_both && cpu_millis === undefined && memory_gbs === undefined)
    throw new UsageError('--cpu or --memory is missing; one of them is enough')
  if ((cpu_millis === undefined) === (memory_gbs === undefined)) return {}
  const size = parseSize({ cpu_millis, memory_gbs }, 'shared', true)
  // What is no size is the server's to refuse, with all sizes in its words; where it needs both it would ask for the other one.
  if (size === undefined && needs_both) {
    const { path, message } = sizeProblem({ cpu_millis, memory_gbs }, false)
    throw new UsageError(`--${optionNameOf(path.slice(1))} ${message}`)
  }
  if (size === undefined) return {}
  return size === 'shared' ? { cpu_millis: size, memory_gbs: size } : { ...size }
}

/** So that a repeated request is not a second service. */
export function keyFor({ idempotent }: Endpoint, input: Input): { idempotency_key?: string } {
  return idempotent === true ? { idempotency_key: input.text('idempotency-key') ?? newKey() } : {}
}
