// What an agent is told of an endpoint: a tool of the same meaning, derived from its row. Pure. Input is one flat object: ids of the path,
// then members of query and body; descriptions are cut to their first sentence, because an agent reads the whole list in every conversation.
import type { TSchema } from 'typebox'
import { effectOf } from './command.ts'
import type { Effect, Endpoint } from './endpoint.ts'
import { factsOf } from './example.ts'
import { objectOf, pathParametersOf, plainSchema } from './openapi.ts'

export type InputSchema = {
  type: 'object'
  properties: Record<string, Record<string, unknown>>
  required?: string[]
}

export type ToolAnnotations = {
  readOnlyHint: boolean
  destructiveHint?: boolean
  idempotentHint?: boolean
  openWorldHint?: boolean
}

export type ToolFacts = {
  name: string
  description: string
  inputSchema: InputSchema
  annotations: ToolAnnotations
}

/** `setHA` → `set_ha`, `attachToVpc` → `attach_to_vpc`. */
export const toolNameOf = (endpoint_name: string) =>
  endpoint_name.replaceAll(/(?<=[a-z0-9])(?=[A-Z])/g, '_').toLowerCase()

export function toolOf(endpoint_name: string, endpoint: Endpoint): ToolFacts {
  const { summary, description, accepts, follows, query, body } = endpoint
  const ids = pathParametersOf(endpoint.path).map((name) => [name, idSchemaOf(name)] as const)
  const members = [query, body].flatMap((schema) => Object.entries(objectOf(schema).properties ?? {}))
  const required = [
    ...ids.map(([name]) => name).filter((name) => name !== 'project_id'),
    ...[query, body].flatMap((schema) => objectOf(schema).required ?? []),
  ]
  const when = accepts && `Possible in status ${accepts.filter((one) => one !== 'stuck').join(', ')}.`
  const properties = {
    ...Object.fromEntries(ids),
    ...Object.fromEntries(members.map(([name, schema]) => [name, memberOf(schema)])),
    ...(follows && {
      wait_seconds: { type: 'integer', description: 'Wait so long for the end; 30 if left out, 50 at most.' },
    }),
  }
  return {
    name: toolNameOf(endpoint_name),
    description: [`${summary}.`, description && firstSentence(description), when].filter(Boolean).join(' '),
    inputSchema: inputOf(properties, required),
    annotations: annotationsOf(effectOf(endpoint), endpoint),
  }
}

export function inputOf(properties: InputSchema['properties'], required: readonly string[]): InputSchema {
  return { type: 'object', properties, ...(required.length > 0 && { required: [...required] }) }
}

export function annotationsOf(effect: Effect, { interrupts, method }: Partial<Endpoint> = {}): ToolAnnotations {
  if (effect === 'read') return { readOnlyHint: true }
  return {
    readOnlyHint: false,
    destructiveHint: effect === 'remove' || interrupts === true,
    ...(method === 'DELETE' && { idempotentHint: true }),
  }
}

function idSchemaOf(name: string): Record<string, unknown> {
  return { type: 'string', ...(name === 'service_id' && { description: 'Id or exact name.' }) }
}

/** As little as an agent needs: the API checks the rest, and says what is wrong. Formats of our own no other validator knows. */
function memberOf(schema: TSchema): Record<string, unknown> {
  const { type, enum: values, items } = plainSchema(schema)
  const { description } = factsOf(schema)
  return {
    ...(type !== undefined && { type }),
    ...(values !== undefined && { enum: values }),
    ...(items !== undefined && { items: itemOf(Object(items)) }),
    ...(description !== undefined && { description: firstSentence(description) }),
  }
}

/** The list says what its items are. */
function itemOf(schema: TSchema): Record<string, unknown> {
  const { description: _, ...item } = memberOf(schema)
  return item
}

/** What stands in code ends no sentence. */
const firstSentence = (text: string) =>
  (/^(?:`[^`]*`|[^`])*?[.:;](?= |$)/.exec(text)?.[0] ?? text).replace(/[:;]$/, '.')
