// What is wrong with a request, in plain words: schema errors become one sentence a field, each with its JSON path, all
// fields at once. Pure. It names what is allowed and never repeats what was sent: that may be a password.
import { Fault } from './fault.ts'

/** An error as JSON Schema validators report it. */
export type SchemaError = {
  instancePath: string
  keyword: string
  params: Record<string, unknown>
  message?: string | undefined
}

export const name_characters_max = 128
export const email_characters_max = 254
export const email_pattern = '^[^\\s@\\u0000-\\u001f\\u007f-\\u009f]+@[^\\s@\\u0000-\\u001f\\u007f-\\u009f]+$'
const problems_max = 50
const control_characters = /[\u0000-\u001f\u007f-\u009f]/u // oxlint-disable-line no-control-regex

/** Why this cannot be the name of something; undefined when it can. */
export function nameProblem(name: string): string | undefined {
  const characters = Array.from(name.trim()).length
  if (!name.isWellFormed()) return 'must be well-formed Unicode'
  if (control_characters.test(name)) return 'must not contain control characters'
  if (characters >= 1 && characters <= name_characters_max) return undefined
  return `must be 1 to ${name_characters_max} characters long after trimming`
}

/** One sentence a field, in the order of the errors. `where` stands before each path: empty for a body. */
export function problemsOf(errors: readonly SchemaError[], where = ''): string[] {
  const by_path = new Map<string, SchemaError[]>()
  for (const error of errors) {
    const path = pathOf(error)
    by_path.set(path, [...(by_path.get(path) ?? []), error])
  }
  return [...by_path].map(([path, errors]) => {
    // A name's format says all that its other rules say.
    const name_error = errors.find((error) => error.params['format'] === 'name')
    const said = (name_error === undefined ? errors : [name_error]).map(inWords)
    return `${where}${path}: ${[...new Set(said)].join(' and ')}`
  })
}

export function invalidRequest(problems: readonly string[]): Fault {
  const listed = problems.slice(0, problems_max)
  if (problems.length > listed.length) listed.push(`and ${problems.length - listed.length} more`)
  return new Fault('INVALID_REQUEST', `the request is not valid: ${listed.join('; ')}`, { details: listed.join('\n') })
}

function pathOf(error: SchemaError): string {
  if (error.keyword === 'required') return `${error.instancePath}/${String(error.params['missingProperty'])}`
  return error.instancePath === '' ? '/' : error.instancePath
}

function inWords(error: SchemaError): string {
  const { keyword, params } = error
  switch (keyword) {
    case 'required':
      return 'is required'
    case 'type':
      return `must be ${withArticle(params['type'])}`
    case 'enum':
      return `must be one of ${listOf(params['allowedValues'])}`
    case 'minLength':
      return `must be at least ${String(params['limit'])} characters long`
    case 'maxLength':
      return `must be at most ${String(params['limit'])} characters long`
    case 'minimum':
      return `must be at least ${String(params['limit'])}`
    case 'maximum':
      return `must be at most ${String(params['limit'])}`
    case 'minItems':
      return `must have at least ${String(params['limit'])} items`
    case 'maxItems':
      return `must have at most ${String(params['limit'])} items`
    case 'format':
      return formatInWords(params['format'])
    case 'pattern':
      return patternInWords(params['pattern'])
    default:
      return error.message ?? `breaks the rule ${keyword}`
  }
}

function withArticle(type: unknown): string {
  const types = Array.isArray(type) ? type.map(String) : [String(type)]
  return types.map((type) => `${/^[aeio]/.test(type) ? 'an' : 'a'} ${type}`).join(' or ')
}

function listOf(values: unknown): string {
  return Array.isArray(values) ? values.map(String).join(', ') : String(values)
}

function formatInWords(format: unknown): string {
  if (format === 'name')
    return `must be 1 to ${name_characters_max} characters after trimming, without control characters`
  if (format === 'date-time') return 'must be an RFC 3339 date and time with a zone, such as 2026-01-31T12:00:00Z'
  return `must be a valid ${String(format)}`
}

function patternInWords(pattern: unknown): string {
  if (pattern === '^[^\\u0000-\\u001f\\u007f-\\u009f]*$') return 'must not contain control characters'
  if (pattern === email_pattern) return 'must look like an e-mail address'
  return `must match ${String(pattern)}`
}
