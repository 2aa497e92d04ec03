// Table tests of the words in which invalid requests are refused.
import { Ajv2020 } from 'ajv/dist/2020.js'
import type { TSchema } from 'typebox'
import { describe, expect, test } from 'vitest'
import { invalidRequest, isEmail, nameProblem, ofRequest, problemsOf } from './problem.ts'
import { input, Name, text } from './schema.ts'
import { Type } from './type.ts'

const ajv = new Ajv2020({
  allErrors: true,
  verbose: true,
  formats: { name: (name: string) => nameProblem(name) === undefined, 'date-time': /Z$/, password: true },
})

function problems(schema: TSchema, value: unknown): string[] {
  const validate = ajv.compile(schema)
  return validate(value) ? [] : problemsOf(validate.errors ?? []).map(({ path, message }) => `${path}: ${message}`)
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
    ['\u202edorp', 'must not contain control characters'],
    ['\u2067isolate\u2069', 'must not contain control characters'],
    ['\u200b\u2060\ufeff', 'must have a character that is seen'],
    ['\u200d \u3164', 'must have a character that is seen'],
  ])('may not be %j', (name, problem) => {
    expect(nameProblem(name)).toBe(problem)
  })
})

test.each(['a\u200bda', 'ada\u00ad', '\u202eada', 'ada\u2060'])(
  'no e-mail is %j@example.com, which reads as the one of another user',
  (name) => {
    expect([isEmail(`${name}@example.com`), isEmail(`ada@exa${name}.com`)]).toEqual([false, false])
  },
)

describe('an invalid value is described by its path and what is allowed', () => {
  const about_name = '/name: must be 1 to 128 characters after trimming, one of them seen, without control characters'
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

test('details list every problem, one a line, and the message repeats none of them', () => {
  const fault = invalidRequest([
    { path: '/a', message: 'is required' },
    { path: '/b', message: 'must be a string' },
    ofRequest('the region has no room'),
  ])
  expect(fault.body).toEqual({
    code: 'INVALID_REQUEST',
    message: 'the request is not valid in 3 places; details lists them',
    details: '/a: is required\n/b: must be a string\nthe region has no room',
  })
})

test('a flood of problems is cut, and the answer says so', () => {
  const fault = invalidRequest(
    Array.from({ length: 1000 }, (_, index) => ({ path: `/${index}`, message: 'is required' })),
  )
  expect(fault.details?.split('\n')).toHaveLength(51)
  expect(fault.details).toMatch(/and 950 more$/)
})

test('the message of one problem does not count', () => {
  const { message } = invalidRequest([{ path: '/name', message: 'is required' }])
  expect(message).toBe('the request is not valid; details says where and why')
})

describe('a member that is not known', () => {
  const closed = input({ name: Name, region_code: Type.Optional(text('A region.', 'local')) }, { name: 'shop' })
  const rows: [object, string[]][] = [
    [{ name: 'x', Region_Code: 1 }, ['/Region_Code: is not a known member; did you mean `region_code`?']],
    [{ nam: 'x' }, ['/name: is required', '/nam: is not a known member; did you mean `name`?']],
    [{ name: 'x', colour: 1 }, ['/colour: is not a known member; those that exist are name, region_code']],
    [{ name: 'x', 'a\nb': 1 }, [String.raw`/"a\nb": is not a known member; those that exist are name, region_code`]],
    [
      { name: 'x', ['🐘'.repeat(100)]: 1 },
      [`/"${'🐘'.repeat(40)}": is not a known member; those that exist are name, region_code`],
    ],
  ]
  test.each(rows)('%#', (value, expected) => {
    expect(problems(closed, value)).toEqual(expected)
  })

  test('is said to be one too many where there is none', () => {
    expect(problems(input({}, {}), { force: true })).toEqual(['/force: is not a known member; there is none here'])
  })

  test('is compared with the known ones only where that is told', () => {
    let compared = 0
    const parentSchema = {
      get properties() {
        compared += 1
        return { name: {} }
      },
    }
    const errors = Array.from({ length: 5_000 }, (_, n) => ({
      instancePath: '',
      keyword: 'additionalProperties',
      params: { additionalProperty: `nam${n}` },
      parentSchema,
    }))
    expect(invalidRequest(problemsOf(errors)).details).toMatch(/^and 4950 more$/m)
    expect(compared).toBe(50)
  })

  test('of a query is a parameter', () => {
    const validate = ajv.compile(closed)
    expect(validate({ name: 'x', nmae: 'y' })).toBe(false)
    expect(problemsOf(validate.errors ?? [], 'query')).toEqual([
      { path: 'query/nmae', message: 'is not a known query parameter; did you mean `name`?' },
    ])
  })
})
