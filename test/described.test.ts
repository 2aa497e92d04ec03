// The contract describes itself whole: every member of every body, query and answer says what it is and has an example that
// its own schema accepts; what callers send is closed; and every kind of event that is told is one of the contract's.
import { Ajv2020 } from 'ajv/dist/2020.js'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TSchema } from 'typebox'
import { describe, expect, test } from 'vitest'
import { api } from '#contract/api.ts'
import type { Endpoint } from '#contract/endpoint.ts'
import { exampleOf, factsOf } from '#contract/example.ts'
import { path_ids } from '#contract/id.ts'
import { plainSchema } from '#contract/openapi.ts'
import { nameProblem } from '#contract/problem.ts'
import { FaultSchema } from '#contract/schema.ts'
import { service_event_kinds } from '#contract/event.ts'

type Member = { path: string; schema: TSchema }

const rows = Object.entries<Endpoint>(api).map(([name, endpoint]) => ({ name, endpoint }))

const sent = rows.flatMap(({ name, endpoint: { body, query } }): Member[] => [
  ...(body ? [{ path: `${name} body`, schema: body }] : []),
  ...(query ? [{ path: `${name} query`, schema: query }] : []),
])
const answered = rows.flatMap(({ name, endpoint: { output } }): Member[] =>
  output ? [{ path: `${name} answer`, schema: output }] : [],
)
const ids = Object.entries(path_ids).map(([path, { schema }]): Member => ({ path, schema }))
const wholes = [...sent, ...answered, ...ids, { path: 'a fault', schema: FaultSchema }]
const members = wholes.flatMap(membersOf)

const validator = new Ajv2020({
  allErrors: true,
  allowUnionTypes: true,
  formats: { ...fullFormats, password: true, name: (name: string) => nameProblem(name) === undefined },
})

/** Every member below, through lists. */
function membersOf({ path, schema }: Member): Member[] {
  const { properties = {}, items } = factsOf(schema)
  const below = Object.entries(properties).map(([name, member]) => ({ path: `${path}/${name}`, schema: member }))
  const in_items = items === undefined ? [] : membersOf({ path: `${path}[]`, schema: items })
  return [...below, ...below.flatMap(membersOf), ...in_items]
}

test('every member says what it is', () => {
  const silent = members.filter(({ schema }) => factsOf(schema).description === undefined)
  expect(silent.map(({ path }) => path)).toEqual([])
})

test('every member, body, query and answer has an example that its schema accepts', () => {
  // A schema that several share is checked once.
  const each = new Map([...wholes, ...members].map(({ path, schema }) => [schema, path]))
  const wrong = [...each].flatMap(([schema, path]) => {
    const validate = validator.compile(plainSchema(schema))
    return validate(exampleOf(schema)) ? [] : [`${path}: ${validator.errorsText(validate.errors)}`]
  })
  expect(wrong).toEqual([])
})

test('every body and query is closed, and what lies in it', () => {
  const objects = [...sent, ...sent.flatMap(membersOf)].filter(({ schema }) => factsOf(schema).properties !== undefined)
  const open = objects.filter(({ schema }) => factsOf(schema).additionalProperties !== false)
  expect(open.map(({ path }) => path)).toEqual([])
})

describe('every kind of event', () => {
  const root = join(import.meta.dirname, '..')
  const told = ['server', 'providers'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('.test.ts'))
      .flatMap((file) => {
        const code = readFileSync(join(root, folder, file), 'utf8')
        const told_as =
          /\bkind: '([^']+)',\s*message\b|\binsertEvent\(\s*\w+,\s*[\w.]+,\s*'([^']+)'|\bevent_kind: '([^']+)'/g
        return [...code.matchAll(told_as)].map(
          ([, observed, inserted, changed]) => observed ?? inserted ?? changed ?? '',
        )
      }),
  )

  test('that the server or a provider tells is in the contract', () => {
    expect(told.length).toBeGreaterThan(20)
    const known: readonly string[] = service_event_kinds
    expect([...new Set(told)].filter((kind) => !known.includes(kind))).toEqual([])
  })

  test('that the contract names is told', () => {
    expect(service_event_kinds.filter((kind) => !told.includes(kind))).toEqual([])
  })
})
