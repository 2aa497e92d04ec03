// What is wrong with a request, in plain words: schema errors become one problem a member, all members at once. Pure. A
// problem names what is allowed and never repeats the value that was sent: that may be a password.
import { Fault } from './fault.ts'
import { nearestOf } from './nearest.ts'

/** `path`: of the member in the body (`/name`) or in the query (`query/limit`); empty for the request as a whole. */
export type Problem = { path: string; message: string }

/** Of the request as a whole: of no member of it alone. */
export function ofRequest(message: string): Problem {
  return { path: '', message }
}

/** An error as JSON Schema validators report it. */
export type SchemaError = {
  instancePath: string
  keyword: string
  params: Record<string, unknown>
  message?: string | undefined
  /** The schema that the error is about, where the validator tells it. */
  parentSchema?: unknown
}

export const name_characters_max = 128
export const email_characters_max = 254
/**
 * In neither part: an address reads as no other one's, so nothing that is not seen or turns text round. The last two are letters whose
 * small ones are i and k: the address of another user would be the same in any case.
 */
const not_in_emails =
  '\\s@\\u0000-\\u001f\\u007f-\\u009f\\u00ad\\u200b-\\u200f\\u202a-\\u202e\\u2060-\\u206f\\u0130\\u212a'
/** A domain with a dot, whose last label is letters. */
export const email_pattern = `^[^${not_in_emails}]+@([^.${not_in_emails}]+\\.)+[A-Za-z]+$`

export function isEmail(text: string): boolean {
  return text.length <= email_characters_max && text.isWellFormed() && new RegExp(email_pattern, 'u').test(text)
}
/** `15m`, `6h`, `7d`, `2w`. */
export const duration_pattern = '^[1-9][0-9]{0,5}[mhdw]$'

export const plain_text_pattern = '^[^\\u0000-\\u001f\\u007f-\\u009f]*$'
const problems_max = 50
const shown_name_form = /^[\w.~-]{1,64}$/
const shown_name_characters_max = 40
/** With those that turn the text after them round: it would be read as another name. */
const control_characters = /[\p{Cc}\u202a-\u202e\u2066-\u2069]/u
const seen_character = /[^\p{Default_Ignorable_Code_Point}\p{Z}]/u

/** Why this cannot be the name of something; undefined when it can. */
export function nameProblem(name: string): string | undefined {
  const characters = Array.from(name.trim()).length
  if (!name.isWellFormed()) return 'must be well-formed Unicode'
  if (control_characters.test(name)) return 'must not contain control characters'
  if (characters < 1 || characters > name_characters_max)
    return `must be 1 to ${name_characters_max} characters long after trimming`
  return seen_character.test(name) ? undefined : 'must have a character that is seen'
}

/** What a parser makes of a request, unless it finds something wrong. */
export function checked<Result>(parse: (problems: Problem[]) => Result): Result {
  const problems: Problem[] = []
  const result = parse(problems)
  if (problems.length > 0) throw invalidRequest(problems)
  return result
}

/**
 * One problem a member, in the order of the errors. `where` stands before each path: empty for a body. A message is made when it is read:
 * of thousands of unknown members only the first are told, and to find out what one was meant to be takes a while.
 */
export function problemsOf(errors: readonly SchemaError[], where = ''): Problem[] {
  const by_path = new Map<string, SchemaError[]>()
  for (const error of errors) {
    const path = pathOf(error)
    by_path.set(path, [...(by_path.get(path) ?? []), error])
  }
  return [...by_path].map(([path, errors]) => ({
    path: `${where}${path}`,
    get message() {
      return sentenceOf(errors, where)
    },
  }))
}

function sentenceOf(errors: readonly SchemaError[], where: string): string {
  // A name's format says all that its other rules say.
  const name_error = errors.find((error) => error.params['format'] === 'name')
  const said = (name_error === undefined ? errors : [name_error]).map((error) => inWords(error, where))
  return [...new Set(said)].join(' and ')
}

/** The message does not repeat `details`, which lists the problems, one a line: clients show both. */
export function invalidRequest(problems: readonly Problem[]): Fault {
  const lines = problems
    .slice(0, problems_max)
    .map(({ path, message }) => (path === '' ? message : `${path}: ${message}`))
  if (problems.length > lines.length) lines.push(`and ${problems.length - lines.length} more`)
  const message =
    problems.length === 1
      ? 'the request is not valid; details says where and why'
      : `the request is not valid in ${problems.length} places; details lists them`
  return new Fault('INVALID_REQUEST', message, { details: lines.join('\n') })
}

function pathOf(error: SchemaError): string {
  const { keyword, params, instancePath } = error
  if (keyword === 'required') return `${instancePath}/${String(params['missingProperty'])}`
  if (keyword === 'additionalProperties') return `${instancePath}/${shownName(String(params['additionalProperty']))}`
  return instancePath === '' ? '/' : instancePath
}

/** A name that a caller made up, on one line and not too long. */
function shownName(name: string): string {
  return shown_name_form.test(name)
    ? name
    : JSON.stringify(Array.from(name).slice(0, shown_name_characters_max).join(''))
}

/** Of a member or a query parameter that is not known. */
function unknownInWords({ params, parentSchema }: SchemaError, where: string): string {
  const name = String(params['additionalProperty'])
  const thing = where === '' ? 'member' : 'query parameter'
  const known = knownNames(parentSchema)
  const nearest = nearestOf(name, known)
  if (nearest !== undefined) return `is not a known ${thing}; did you mean \`${nearest}\`?`
  if (known.length === 0) return `is not a known ${thing}; there is none here`
  return `is not a known ${thing}; those that exist are ${known.join(', ')}`
}

function knownNames(schema: unknown): string[] {
  if (typeof schema !== 'object' || schema === null || !('properties' in schema)) return []
  return Object.keys(schema.properties ?? {})
}

function inWords(error: SchemaError, where: string): string {
  const { keyword, params } = error
  switch (keyword) {
    case 'additionalProperties':
      return unknownInWords(error, where)
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
    return `must be 1 to ${name_characters_max} characters after trimming, one of them seen, without control characters`
  if (format === 'date-time') return 'must be an RFC 3339 date and time with a zone, such as 2026-01-31T12:00:00Z'
  return `must be a valid ${String(format)}`
}

function patternInWords(pattern: unknown): string {
  if (pattern === plain_text_pattern) return 'must not contain control characters'
  if (pattern === duration_pattern) return 'must be a time such as 15m, 6h, 7d or 2w'
  if (pattern === email_pattern) return 'must look like an e-mail address, such as ada@example.com'
  return `must match ${String(pattern)}`
}
