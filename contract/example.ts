// Examples of what schemas describe, for the documentation and for tests: a schema's own, or one made of the
// examples of its members. Pure.
import type { TSchema } from 'typebox'

/** The JSON Schema words that this API uses; the type library leaves them out of its open type. */
export type SchemaFacts = {
  type?: string | readonly string[]
  description?: string
  format?: string
  enum?: readonly string[]
  deprecated?: boolean
  examples?: readonly unknown[]
  items?: TSchema
  properties?: Record<string, TSchema>
  required?: readonly string[]
  additionalProperties?: boolean
  minimum?: number
  maximum?: number
}

export function factsOf(schema: TSchema): SchemaFacts {
  return schema
}

/** Undefined for a schema that is neither an example's own nor made of such. */
export function exampleOf(schema: TSchema): unknown {
  const { examples, enum: values, items, properties, required = [] } = factsOf(schema)
  if (examples !== undefined) return examples[0]
  if (values !== undefined) return values[0]
  if (items !== undefined) return [exampleOf(items)]
  if (properties === undefined) return undefined
  // A secret that an answer may carry is in one answer only, and an example is of them all.
  const shown = Object.entries(properties).filter(
    ([name, member]) => required.includes(name) || factsOf(member).format !== 'password',
  )
  return Object.fromEntries(shown.map(([name, member]) => [name, exampleOf(member)]))
}
