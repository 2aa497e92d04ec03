// Table tests of the words in which invalid requests are refused.
import { Ajv2020 } from 'ajv/dist/2020.js'
import { Type, type TSchema } from 'typebox'
import { describe, expect, test } from 'vitest'
import { invalidRequest, nameProblem, problemsOf } from './problem.ts'
import { Name } from './schema.ts'

const ajv = new Ajv2020({
  allErrors: true,
  formats: { name: (name: string) => nameProblem(name) === undefined, 'date-time': /Z$/, password: true },
})

function problems(schema: TSchema, value: unknown): string[] {
  const validate = ajv.compile(schema)
  return validate(value) ? [] : problemsOf(validate.errors ?? [])
}

describe('a name', () => {
  test.each([
    ['a'],
    ['  padded  '],
    ['x'.repeat(128)],
    [` ${'x'.repeat(128)} `],
    ['🐘'.repeat(128)],
    ['with "quotes", <tags> and ünïcode'],
  ])('may be %j', (name) => {
    expect(nameProblem(name)).toBeUndefined()
  })

  test.each([
    ['', 'must be 1 to 128 characters long after trimming'],
    [' \u00a0 ', 'must be 1 to 128 characters long after trimming'],
    ['x'.repeat(129), 'must be 1 to 128 characters long after trimming'],
    ['🐘'.repeat(129), 'must be 1 to 128 characters long after trimming'],
    ['line\nbreak', 'must not contain control characters'],
    ['trailing tab\t', 'must not contain control characters'],
    ['nul\u0000', 'must not contain control characters'],
    ['c1 \u0085', 'must not contain control characters'],
  ])('may not be %j', (name, problem) => {
    expect(nameProblem(name)).toBe(problem)
  })
})

describe('an invalid value is described by its path and what is allowed', () => {
  const about_name = '/name: must be 1 to 128 characters after trimming, without control characters'
  const rows: [TSchema, unknown, string[]][] = [
    [Type.Object({ name: Name }), {}, ['/name: is required']],
    [Type.Object({ name: Name }), { name: 1 }, ['/name: must be a string']],
    [Type.Object({ name: Name }), { name: '' }, [about_name]],
    [Type.Object({ name: Name }), { name: ' '.repeat(300) }, [about_name]],
    [Type.Object({ name: Name }), [], ['/: must be an object']],
    [Type.Object({ it: Type.Enum(['DEV', 'PROD']) }), { it: 'dev' }, ['/it: must be one of DEV, PROD']],
    [Type.Object({ it: Type.Integer({ minimum: 0 }) }), { it: -1 }, ['/it: must be at least 0']],
    [Type.Object({ it: Type.Integer({ maximum: 5 }) }), { it: 6 }, ['/it: must be at most 5']],
    [Type.Object({ it: Type.Integer() }), { it: 1.5 }, ['/it: must be an integer']],
    [
      Type.Object({ it: Type.Array(Type.String(), { maxItems: 1 }) }),
      { it: ['a', 'b'] },
      ['/it: must have at most 1 items'],
    ],
    [Type.Object({ it: Type.Array(Type.String(), { minItems: 1 }) }), { it: [] }, ['/it: must have at least 1 items']],
    [Type.Object({ it: Type.String({ maxLength: 2 }) }), { it: 'abc' }, ['/it: must be at most 2 characters long']],
    [
      Type.Object({ it: Type.String({ format: 'date-time' }) }),
      { it: 'noon' },
      ['/it: must be an RFC 3339 date and time with a zone, such as 2026-01-31T12:00:00Z'],
    ],
    [Type.Object({ it: Type.String({ pattern: '^[a-z]$' }) }), { it: '1' }, ['/it: must match ^[a-z]$']],
    [Type.Object({ it: Type.Boolean() }), { it: 'true' }, ['/it: must be a boolean']],
    [Type.Object({ it: Type.Array(Type.Integer()) }), { it: [1, 'x'] }, ['/it/1: must be an integer']],
    [
      Type.Object({ it: Type.String({ minLength: 8, pattern: '^[^\\u0000-\\u001f\\u007f-\\u009f]*$' }) }),
      { it: 'a\n' },
      ['/it: must be at least 8 characters long and must not contain control characters'],
    ],
    [
      Type.Object({ name: Name, a: Type.Integer(), b: Type.Object({ c: Type.String() }) }),
      { a: 'x', b: {} },
      ['/name: is required', '/a: must be an integer', '/b/c: is required'],
    ],
  ]
  test.each(rows)('%#', (schema, value, expected) => {
    expect(problems(schema, value)).toEqual(expected)
  })
})

test('details list every problem, one a line', () => {
  const fault = invalidRequest(['/a: is required', '/b: must be a string'])
  expect(fault.body).toEqual({
    code: 'INVALID_REQUEST',
    message: 'the request is not valid: /a: is required; /b: must be a string',
    details: '/a: is required\n/b: must be a string',
  })
})

test('a flood of problems is cut, and the answer says so', () => {
  const fault = invalidRequest(Array.from({ length: 1000 }, (_, index) => `/${index}: is required`))
  expect(fault.details?.split('\n')).toHaveLength(51)
  expect(fault.details).toMatch(/and 950 more$/)
})
