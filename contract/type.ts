// The schema library's builders, as few of them as the contract needs. Its types are the library's own; what runs are these lines, which
// make the same plain JSON Schema. So a client of the contract loads no library, which would take it longer than a request does.
import type { Type as Library } from 'typebox'

type Schema = Record<string, unknown>
type Names =
  | 'Array'
  | 'Boolean'
  | 'Enum'
  | 'Integer'
  | 'Null'
  | 'Number'
  | 'Object'
  | 'Optional'
  | 'String'
  | 'Union'
  | 'Unsafe'

/** The library's own mark of a member that may be left out. Not enumerable: no part of the schema. */
const optional = '~optional'

const builders = {
  String: (more?: Schema) => ({ type: 'string', ...more }),
  Integer: (more?: Schema) => ({ type: 'integer', ...more }),
  Number: (more?: Schema) => ({ type: 'number', ...more }),
  Boolean: (more?: Schema) => ({ type: 'boolean', ...more }),
  Null: (more?: Schema) => ({ type: 'null', ...more }),
  Enum: (values: readonly string[], more?: Schema) => ({ enum: values, ...more }),
  Array: (items: Schema, more?: Schema) => ({ type: 'array', items, ...more }),
  Union: (anyOf: readonly Schema[], more?: Schema) => ({ anyOf, ...more }),
  Unsafe: (schema: Schema) => ({ ...schema }),
  Optional: (schema: Schema) => Object.defineProperty({ ...schema }, optional, { value: true }),
  Object: (properties: Record<string, Schema>, more?: Schema) => {
    const required = Object.keys(properties).filter((name) => !Object.hasOwn(properties[name] ?? {}, optional))
    return { type: 'object', ...(required.length > 0 && { required }), properties, ...more }
  },
} satisfies Record<Names, unknown>

// type.test.ts compares what they make with what the library makes.
export const Type = builders as unknown as Pick<typeof Library, Names>
