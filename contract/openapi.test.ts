// The OpenAPI document is sound: every reference resolves, every parameter is declared, every schema compiles.
import { Ajv2020 } from 'ajv/dist/2020.js'
import { describe, expect, test } from 'vitest'
import { api } from './api.ts'
import { newOpenApi } from './openapi.ts'

type Operation = {
  operationId: string
  tags: string[]
  summary: string
  parameters: { name: string; in: string; required: boolean; schema: object }[]
  requestBody?: { required: boolean; content: Content }
  responses: Record<string, { description: string; content?: Content }>
}
type Content = Record<string, { schema: object }>

// The document is plain JSON; this is the part of its shape that the tests walk.
const document = newOpenApi('1.2.3') as unknown as {
  openapi: string
  info: { title: string; version: string }
  tags: { name: string }[]
  paths: Record<string, Record<string, Operation>>
  components: { schemas: Record<string, object> }
}
const operations = Object.entries(document.paths).flatMap(([path, methods]) =>
  Object.entries(methods).map(([method, operation]) => ({ path, method, operation })),
)

test('it says which version it describes', () => {
  expect(document.openapi).toMatch(/^3\.1\.\d+$/)
  expect(document.info.version).toBe('1.2.3')
})

test('every endpoint of the table is one operation under its own name', () => {
  expect(operations.map(({ operation }) => operation.operationId).toSorted()).toEqual(Object.keys(api).toSorted())
})

test('every reference resolves, and no schema keeps an $id that would move its base', () => {
  const text = JSON.stringify(document)
  const references = [...text.matchAll(/"\$ref":"([^"]+)"/g)].map(([, target]) => target ?? '')
  expect(references.length).toBeGreaterThan(0)
  for (const target of references) {
    const name = /^#\/components\/schemas\/(\w+)$/.exec(target)?.[1]
    expect(document.components.schemas, target).toHaveProperty(name ?? target)
  }
  expect(text).not.toContain('"$id"')
})

test('every tag in use is declared', () => {
  const declared = document.tags.map((tag) => tag.name)
  expect(new Set(operations.flatMap(({ operation }) => operation.tags))).toEqual(new Set(declared))
})

test('a path id has its form, and every body and every answer an example', () => {
  for (const { operation } of operations) {
    const in_path = operation.parameters.filter((parameter) => parameter.in === 'path')
    for (const { schema, name } of in_path) expect(schema, name).toHaveProperty('pattern')
    const succeeded = Object.entries(operation.responses).filter(([status]) => status.startsWith('2'))
    const contents = [operation.requestBody?.content, ...succeeded.map(([, response]) => response.content)]
    for (const content of contents.flatMap((one) => Object.values(one ?? {}))) {
      expect(content, operation.operationId).toHaveProperty('example')
    }
  }
})

test('a list that goes on says so, with the schema of its entries', () => {
  const streaming = operations.filter(({ operation }) => 'x-streams' in operation)
  expect(streaming.map(({ operation }) => operation.operationId).toSorted()).toEqual([
    'getReplicaSetLogs',
    'getServiceLogs',
    'listProjectEvents',
    'listServiceEvents',
  ])
  for (const { operation } of streaming) {
    const content = operation.responses['200']?.content?.['text/event-stream']
    expect(content, operation.operationId).toHaveProperty('x-item-schema.$ref')
    expect(operation.parameters.map(({ name }) => name)).toContain('Last-Event-ID')
  }
  const others = operations.filter(({ operation }) => !('x-streams' in operation))
  expect(JSON.stringify(others)).not.toContain('text/event-stream')
})

test('an operation says what a call of it does, and what a client calls it', () => {
  const stop = operations.find(({ operation }) => operation.operationId === 'stopService')
  expect(stop?.operation).toMatchObject({
    'x-command': { noun: 'service', verb: 'stop' },
    'x-effect': 'change',
    'x-interrupts': true,
    'x-follows': 'service',
    'x-accepts': ['READY', 'UNSTABLE'],
  })
})

test.each(['deleteSnapshot', 'updatePassword', 'createReplicaSet'])('%s can meet a conflict, and says so', (name) => {
  const operation = operations.find((one) => one.operation.operationId === name)?.operation
  expect(operation?.responses).toHaveProperty('409')
})

const ajv = new Ajv2020({
  strict: true,
  allowUnionTypes: true,
  formats: { 'date-time': true, password: true, name: true },
})
ajv.addVocabulary(['components', 'x-go-name'])
ajv.addSchema({ $id: 'document', components: withReferences(document.components) })

/** With references into the one document that the validator knows, so that each component is compiled once. */
function withReferences(schema: object): object {
  return JSON.parse(JSON.stringify(schema).replaceAll('"$ref":"#/', '"$ref":"document#/'))
}

describe.each(operations)('$method $path', ({ path, method, operation }) => {
  test('declares its path parameters, and each parameter once', () => {
    const in_path = operation.parameters.filter((parameter) => parameter.in === 'path')
    const expected = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name)
    expect(in_path.map((parameter) => parameter.name)).toEqual(expected)
    expect(in_path.every((parameter) => parameter.required)).toBe(true)
    const keys = operation.parameters.map((parameter) => `${parameter.in} ${parameter.name}`)
    expect(new Set(keys).size).toBe(keys.length)
  })

  test('has one success, and errors in the one shape', () => {
    const statuses = Object.keys(operation.responses)
    expect(statuses.filter((status) => status.startsWith('2'))).toHaveLength(1)
    for (const status of statuses.filter((status) => !status.startsWith('2'))) {
      expect(operation.responses[status]?.content?.['application/json']?.schema).toEqual({
        $ref: '#/components/schemas/Fault',
      })
    }
    expect(statuses).toContain('500')
    expect(statuses).toContain('503')
  })

  test('has a body only where HTTP gives it a meaning, and schemas that compile', () => {
    if (method === 'get') expect(operation.requestBody).toBeUndefined()
    const contents = [operation.requestBody?.content, ...Object.values(operation.responses).map((it) => it.content)]
    const schemas = contents.flatMap((content) => Object.values(content ?? {}).map(({ schema }) => schema))
    for (const schema of [...schemas, ...operation.parameters.map((parameter) => parameter.schema)]) {
      expect(() => ajv.compile(withReferences(schema))).not.toThrow()
    }
  })
})

test('clients generated from it know both ways to authenticate, defaults, patterns, and what is kept for old clients', () => {
  const service = '/projects/{project_id}/services/{service_id}'
  expect(newOpenApi('1')).toMatchObject({
    security: [{ token: [] }, { basic: [] }],
    components: {
      securitySchemes: { basic: { type: 'http', scheme: 'basic' } },
      schemas: { ServiceLogs: { properties: { lastCursor: { deprecated: true } } } },
    },
    paths: {
      [`${service}/logs`]: {
        get: {
          parameters: expect.arrayContaining([
            expect.objectContaining({
              name: 'page',
              deprecated: true,
              schema: expect.objectContaining({ default: 0 }),
            }),
          ]),
        },
      },
      [`${service}/query`]: {
        post: {
          parameters: expect.arrayContaining([
            expect.objectContaining({ schema: expect.objectContaining({ pattern: '^[a-z0-9]{10}$' }) }),
          ]),
          requestBody: {
            content: {
              'application/json': {
                schema: {
                  properties: {
                    mode: { default: 'read' },
                    timeout_seconds: { default: 15 },
                    query: { pattern: expect.any(String) },
                  },
                },
              },
            },
          },
        },
      },
    },
  })
})

test('what a request may leave out has its default', () => {
  const members = (name: string) => {
    const { requestBody, parameters = [] } =
      operations.find(({ operation: it }) => it.operationId === name)?.operation ?? {}
    const in_query = Object.fromEntries(parameters.map((parameter) => [parameter.name, parameter.schema]))
    return Object(requestBody?.content['application/json']?.schema).properties ?? in_query
  }
  const counts = { replica_count: { default: 0 }, sync_replica_count: { default: 0 } }
  expect(members('createService')).toMatchObject({ ...counts, environment_tag: { default: 'DEV' } })
  expect(members('forkService')).toMatchObject({ environment_tag: { default: 'DEV' } })
  expect(members('getMetricSeries')).toMatchObject({ fn: { default: 'AVG' } })
  expect(members('getLogHistogram')).toMatchObject({ buckets: { default: 60 } })
  // A count that is left out stays as it is.
  expect(members('setHA').replica_count).not.toHaveProperty('default')
})

describe('generators of clients in other languages', () => {
  const objects: Record<string, unknown>[] = []
  JSON.stringify(document, (_, value: unknown) => {
    if (typeof value === 'object' && value !== null && !Array.isArray(value))
      objects.push(value as Record<string, unknown>)
    return value
  })

  test('meet no schema with two types, but for null', () => {
    const types = objects.map(({ type }) => type).filter((type) => Array.isArray(type))
    expect(types.length).toBeGreaterThan(0)
    for (const type of types) expect([type.length, type]).toEqual([2, expect.arrayContaining(['null'])])
  })

  test('meet no two objects that become one type when their names are spelt the way of the language', () => {
    const spelt = (name: string) => name.replaceAll('_', '').toLowerCase()
    const twins = objects.flatMap(({ properties }) => {
      const members = Object.entries(Object(properties) as Record<string, object>)
      return members.filter(([name]) => members.some(([other]) => other !== name && spelt(other) === spelt(name)))
    })
    expect(twins.map(([name]) => name)).toEqual(expect.arrayContaining(['vpcEndpoint', 'vpc_endpoint']))
    const named = twins.filter(([, schema]) => 'x-go-name' in schema).map(([name]) => name)
    expect(named.toSorted()).toEqual(['apiKey', 'lastCursor', 'vpcEndpoint'])
    for (const [name, schema] of twins)
      expect([name, schema]).not.toEqual([name, expect.objectContaining({ type: 'object' })])
  })
})
