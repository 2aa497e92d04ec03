// The contract's own builders make what the schema library makes.
import { Type as Library } from 'typebox'
import { expect, test } from 'vitest'
import { Type } from './type.ts'

const more = { description: 'what it is', examples: ['x'] }

function madeBy(builders: typeof Type): unknown[] {
  const member = builders.String({ maxLength: 3 })
  return [
    builders.String(),
    builders.String(more),
    builders.Integer({ minimum: 0 }),
    builders.Number(),
    builders.Boolean(more),
    builders.Null(),
    builders.Enum(['a', 'b'], more),
    builders.Array(member, { maxItems: 2 }),
    builders.Union([builders.Number(), builders.Null()], more),
    builders.Unsafe<'a'>({ enum: ['a'] }),
    builders.Optional(member),
    builders.Object({}),
    builders.Object({ one: member, two: builders.Optional(member) }, { $id: 'Both', ...more }),
    builders.Object({ all: builders.Optional(member) }, { additionalProperties: false }),
    builders.Object({ below: builders.Optional(builders.Object({ one: member })) }),
  ]
}

test('the same schemas as the library', () => {
  expect(JSON.parse(JSON.stringify(madeBy(Type)))).toEqual(JSON.parse(JSON.stringify(madeBy(Library))))
})

test('an optional member of one is optional in an object of the other', () => {
  const schemas = [
    Type.Object({ a: Library.Optional(Library.String()) }),
    Library.Object({ a: Type.Optional(Type.String()) }),
  ]
  for (const schema of schemas) expect(JSON.parse(JSON.stringify(schema))).not.toHaveProperty('required')
})
