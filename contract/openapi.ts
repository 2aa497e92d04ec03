// The OpenAPI 3.1 document, derived from the table. Pure. A schema with an $id becomes a named component; which errors an
// endpoint can answer follows from what it declares.
import type { TSchema } from 'typebox'
import { api, base_path } from './api.ts'
import { commandOf, effectOf } from './command.ts'
import { type Endpoint, next_cursor_header, stream_type, wait_seconds_max } from './endpoint.ts'
import { exampleOf, factsOf, type SchemaFacts } from './example.ts'
import { fault_codes, fault_status, type FaultCode } from './fault.ts'
import { isPathIdName, path_ids } from './id.ts'
import { FaultSchema } from './schema.ts'

type Json = null | boolean | number | string | Json[] | { [member: string]: Json }
type JsonObject = { [member: string]: Json }

export function newOpenApi(version: string): JsonObject {
  const components: JsonObject = {}
  const paths: Record<string, JsonObject> = {}
  for (const [name, endpoint] of Object.entries<Endpoint>(api)) {
    const path = (paths[endpoint.path] ??= {})
    path[endpoint.method.toLowerCase()] = operationOf(name, endpoint, components)
  }
  schemaOf(FaultSchema, components)
  return {
    openapi: '3.1.0',
    info: {
      title: 'Howdah',
      version,
      summary: 'Manages PostgreSQL services',
      description: 'Operations that take time answer at once; `status` shows how far they are.',
    },
    servers: [{ url: base_path }],
    security: [{ token: [] }, { basic: [] }],
    tags: [...new Set(Object.values<Endpoint>(api).map((endpoint) => endpoint.tag))].map((name) => ({ name })),
    paths,
    components: {
      schemas: components,
      securitySchemes: {
        token: {
          type: 'http',
          scheme: 'bearer',
          description: 'A personal access token: `<public_key>.<secret_key>`. Or the access token of a user.',
        },
        basic: {
          type: 'http',
          scheme: 'basic',
          description: 'A personal access token: its public key as the user, its secret key as the password.',
        },
      },
    },
  }
}

/** Every error that this endpoint can answer. */
export function faultsOf(endpoint: Endpoint): FaultCode[] {
  const has_path_ids = endpoint.path.includes('{')
  const needs_role = !['public', 'caller', 'viewer'].includes(endpoint.access)
  const possible: Record<FaultCode, boolean> = {
    // Also where nothing is sent: the Host may be wrong.
    INVALID_REQUEST: true,
    WRONG_STATE: endpoint.accepts !== undefined,
    UNAUTHORIZED: endpoint.access !== 'public',
    FORBIDDEN: needs_role,
    QUOTA_EXCEEDED: endpoint.idempotent === true,
    NOT_FOUND: has_path_ids,
    METHOD_NOT_ALLOWED: false,
    CONFLICT: endpoint.idempotent === true,
    PAYLOAD_TOO_LARGE: true,
    UNSUPPORTED_MEDIA_TYPE: endpoint.body !== undefined,
    RATE_LIMITED: true,
    INTERNAL: true,
    UNAVAILABLE: true,
  }
  return fault_codes.filter((code) => possible[code] || endpoint.faults?.includes(code))
}

/** The schema as plain JSON without names: for validators and serialisers that must not see one name twice. */
export function plainSchema(schema: TSchema): JsonObject {
  const drop = (key: string, value: unknown) => (key === '$id' ? undefined : value)
  // A schema is JSON by nature; stringify and parse only lose what the type library keeps for itself.
  return JSON.parse(JSON.stringify(schema, drop)) as JsonObject
}

function operationOf(name: string, endpoint: Endpoint, components: JsonObject): JsonObject {
  const operation: JsonObject = {
    operationId: name,
    tags: [endpoint.tag],
    summary: endpoint.summary,
    parameters: parametersOf(endpoint, components),
    responses: responsesOf(endpoint, components),
  }
  if (endpoint.description !== undefined) operation['description'] = endpoint.description
  operation['x-command'] = commandOf(endpoint)
  operation['x-effect'] = effectOf(endpoint)
  if (endpoint.interrupts) operation['x-interrupts'] = true
  if (endpoint.follows !== undefined) operation['x-follows'] = endpoint.follows
  if (endpoint.streams) operation['x-streams'] = true
  if (endpoint.accepts !== undefined) operation['x-accepts'] = [...endpoint.accepts]
  if (endpoint.access === 'public') operation['security'] = []
  if (endpoint.body !== undefined) {
    operation['requestBody'] = {
      required: !endpoint.body_optional,
      content: contentOf(endpoint.body, components),
    }
  }
  return operation
}

function parametersOf(endpoint: Endpoint, components: JsonObject): Json[] {
  const in_path = pathParametersOf(endpoint.path).map((name) => ({
    name,
    in: 'path',
    required: true,
    schema: isPathIdName(name) ? schemaOf(path_ids[name].schema, components) : { type: 'string' },
  }))
  const { properties = {}, required = [] } = objectOf(endpoint.query)
  const in_query = Object.entries(properties).map(([name, schema]) => ({
    name,
    in: 'query',
    required: required.includes(name),
    ...(factsOf(schema).deprecated && { deprecated: true }),
    schema: schemaOf(schema, components),
  }))
  const key = {
    name: 'Idempotency-Key',
    in: 'header',
    required: false,
    description: 'A repeated request with the same key and body gets the same answer and makes nothing new.',
    schema: { type: 'string', minLength: 1, maxLength: 255 },
  }
  const wait = {
    name: 'Prefer',
    in: 'header',
    required: false,
    description: `\`wait=<seconds>\`: to be answered when ${endpoint.waits === 'entries' ? 'there are entries after `after`' : 'nothing is under way any more'}, or after that time, ${wait_seconds_max} at most.`,
    schema: { type: 'string', examples: ['wait=30'] },
  }
  const resume = {
    name: 'Last-Event-ID',
    in: 'header',
    required: false,
    description: 'Of a stream that was interrupted: the id of its last event. The new stream begins after it.',
    schema: { type: 'string', maxLength: 512 },
  }
  const in_headers = [
    ...(endpoint.idempotent ? [key] : []),
    ...(endpoint.waits ? [wait] : []),
    ...(endpoint.streams ? [resume] : []),
  ]
  return [...in_path, ...in_query, ...in_headers]
}

export function pathParametersOf(path: string): string[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name ?? '')
}

/** The members of an object schema; nothing where there is no schema. */
export function objectOf(schema: TSchema | undefined): Pick<SchemaFacts, 'properties' | 'required'> {
  return schema === undefined ? {} : factsOf(schema)
}

function responsesOf(endpoint: Endpoint, components: JsonObject): JsonObject {
  const headers = { 'X-Request-Id': { schema: { type: 'string' } } }
  const success: JsonObject = {
    description: 'Done, or accepted where the work takes time.',
    headers: { ...headers, ...(endpoint.pages && page_headers) },
  }
  if (endpoint.output !== undefined) {
    const content = contentOf(endpoint.output, components, endpoint.output_type)
    const entry = endpoint.streams && entrySchemaOf(endpoint.output)
    success['content'] = entry ? { ...content, [stream_type]: streamContentOf(entry, components) } : content
  }
  const responses: JsonObject = { [endpoint.success]: success }
  const by_status = Map.groupBy(faultsOf(endpoint), (code) => fault_status[code])
  for (const [status, codes] of by_status) {
    responses[status] = {
      description: codes.join(' or '),
      headers,
      content: { 'application/json': { schema: reference('Fault') } },
    }
  }
  return responses
}

const page_headers = {
  [next_cursor_header]: {
    description: 'There when more follow: the `cursor` of the next page.',
    schema: { type: 'string' },
  },
  Link: { description: 'The next page as a link with `rel="next"`.', schema: { type: 'string' } },
}

/** The schema of what EntryOf types. */
function entrySchemaOf(output: TSchema): TSchema | undefined {
  const { items, properties } = factsOf(output)
  return items ?? (properties?.['entries'] && factsOf(properties['entries']).items)
}

function streamContentOf(entry: TSchema, components: JsonObject): JsonObject {
  const description = 'Server-sent events, oldest first: one for each entry, with the entry as JSON in `data`.'
  return {
    schema: { type: 'string', description },
    'x-item-schema': schemaOf(entry, components),
    example: `id: 1042\ndata: ${JSON.stringify(exampleOf(entry))}\n\n`,
  }
}

function schemaOf(schema: TSchema, components: JsonObject): Json {
  const name = '$id' in schema && typeof schema.$id === 'string' ? schema.$id : undefined
  const plain = oneTypeEach(
    Object.fromEntries(
      Object.entries(schema)
        .filter(([key]) => key !== '$id')
        .map(([key, value]) => [key, partOf(value, components)]),
    ),
  )
  if ('properties' in plain) nameTwins(Object(plain['properties']))
  if (name === undefined) return plain
  components[name] = plain
  return reference(name)
}

/** `apiKey` beside `api_key` would be one field in Go: the generator for it takes this name. */
function nameTwins(members: Record<string, JsonObject>): void {
  for (const [name, schema] of Object.entries(members)) {
    const newer = name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`)
    if (newer !== name && newer in members) schema['x-go-name'] = `${name.charAt(0).toUpperCase()}${name.slice(1)}Camel`
  }
}

const rules_of_texts = ['minLength', 'maxLength', 'pattern', 'format']

/** A number or a text becomes a choice of two schemas: some generators of clients know no schema with two types, but for null. */
function oneTypeEach({ type, ...schema }: JsonObject): JsonObject {
  if (!Array.isArray(type)) return type === undefined ? schema : { type, ...schema }
  if (type.includes('null')) return { type, ...schema }
  const entries = Object.entries(schema)
  const about = entries.filter(([key]) => ['description', 'examples', 'default'].includes(key))
  const rulesOf = (one: Json) =>
    entries.filter((entry) => !about.includes(entry) && rules_of_texts.includes(entry[0]) === (one === 'string'))
  return {
    ...Object.fromEntries(about),
    anyOf: type.map((one) => ({ type: one, ...Object.fromEntries(rulesOf(one)) })),
  }
}

function partOf(value: unknown, components: JsonObject): Json {
  if (Array.isArray(value)) return value.map((item) => partOf(item, components))
  // An object inside a schema is a schema or a map of schemas: both are walked the same way.
  if (typeof value === 'object' && value !== null) return schemaOf(value, components)
  return value as Json
}

function reference(name: string): JsonObject {
  return { $ref: `#/components/schemas/${name}` }
}

function contentOf(schema: TSchema, components: JsonObject, type = 'application/json'): JsonObject {
  // An example is JSON by nature: it has the schema's type.
  return { [type]: { schema: schemaOf(schema, components), example: exampleOf(schema) as Json } }
}
