// The sql template: a statement with its values where they belong, sql<VpcRow>`select … from vpcs where id = ${id}`.
// 1. A value becomes a parameter, never text.
// 2. Only a fragment becomes text. Fragments are constants of their module, so that no request can make one.
// 3. A template with the same fragments is the very same string each time, so that a prepared statement is found by it.
// test/store/statements.test.ts prepares every template of server/ and compares its columns with its Row.

const text_of = Symbol('text of a fragment')

/** A part of several statements, or one of several that a statement chooses from. */
export type Fragment = { readonly [text_of]: string }

type Scalar = string | number | boolean | Date | Buffer | null | undefined
export type Value = Scalar | readonly Scalar[]

/** Row: what the code reads of the rows; `object` when it reads nothing. */
export type Statement<Row extends object> = {
  readonly text: string
  readonly values: Value[]
  /** For the type alone: there is none. */
  readonly row?: Row
}

export function fragment(strings: TemplateStringsArray, ...parts: readonly (Fragment | string)[]): Fragment {
  return { [text_of]: strings.reduce((text, string, at) => text + textOf(parts[at - 1]) + string) }
}

export function sql<Row extends object = object>(
  strings: TemplateStringsArray,
  ...holes: readonly (Fragment | Value)[]
): Statement<Row> {
  const fragments: Fragment[] = []
  const values: Value[] = []
  for (const hole of holes) {
    if (isFragment(hole)) fragments.push(hole)
    else values.push(hole)
  }
  const known = known_texts.get(strings) ?? []
  const same = known.find((one) => one.fragments.every((part, at) => part === fragments[at]))
  const { text } = same ?? newText(strings, holes, fragments)
  if (same === undefined) known_texts.set(strings, [...known, { fragments, text }])
  return { text, values }
}

/** By the place in the code. A place has few texts: one, or as many as there are fragments to choose from. */
const known_texts = new WeakMap<TemplateStringsArray, readonly { fragments: readonly Fragment[]; text: string }[]>()

function newText(strings: TemplateStringsArray, holes: readonly (Fragment | Value)[], fragments: readonly Fragment[]) {
  let values = 0
  const textFor = (hole: Fragment | Value) => (isFragment(hole) ? textOf(hole) : `$${(values += 1)}`)
  return { fragments, text: strings.reduce((text, string, at) => text + textFor(holes[at - 1]) + string) }
}

const textOf = (part: Fragment | string | undefined) => (typeof part === 'object' ? part[text_of] : (part ?? ''))

function isFragment(hole: Fragment | Value): hole is Fragment {
  return typeof hole === 'object' && hole !== null && text_of in hole
}
