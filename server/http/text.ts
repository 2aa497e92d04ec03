// Text that callers send must be well-formed Unicode without NUL. JSON and percent-encoding can carry half a character (a lone surrogate,
// bytes that are no UTF-8), which would be stored as another one than was sent, and NUL, which no text in PostgreSQL can hold. Pure.
// Problems name the member.
import type { Problem } from '#contract/problem.ts'

const message = 'must be well-formed Unicode without the character NUL'
/** No schema is deeper; what is deeper is refused by its schema. */
const depth_max = 5

/** Every text in a value that was JSON, and every name of a member, with its JSON path. */
export function textProblems(value: unknown, path = '', depth = 0): Problem[] {
  if (typeof value === 'string') return isText(value) ? [] : [{ path, message }]
  if (typeof value !== 'object' || value === null || depth === depth_max) return []
  return Object.entries(value).flatMap(([name, member]) =>
    isText(name)
      ? textProblems(member, `${path}/${name}`, depth + 1)
      : [{ path: `${path}/`, message: `${message} in its names` }],
  )
}

const isText = (value: string) => value.isWellFormed() && !value.includes('\0')

/** Of the named members of a query, as it stands in the URL. */
export function queryProblems(url: string, names: readonly string[]): Problem[] {
  if (!url.includes('%')) return []
  const malformed = new Set(malformedNames(url.split('?').slice(1).join('?')))
  return names
    .filter((name) => malformed.has(name))
    .map((name) => ({ path: `query/${name}`, message: `${message}, percent-encoded UTF-8` }))
}

/** The names, as far as they can be read, of what is no percent-encoded text in a query or a form. */
export function malformedNames(text: string): string[] {
  return text
    .split('&')
    .filter((pair) => decoded(pair) === undefined)
    .map((pair) => decoded(pair.split('=')[0] ?? '') ?? '')
}

function decoded(text: string): string | undefined {
  try {
    const characters = decodeURIComponent(text.replaceAll('+', ' '))
    return isText(characters) ? characters : undefined
  } catch {
    return undefined
  }
}
