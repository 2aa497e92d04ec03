// Members of bodies and queries as options: what a member's schema says is what its option takes. Pure, but for texts that come from a
// file or from stdin because arguments are public.
import { readFileSync } from 'node:fs'
import type { TSchema } from 'typebox'
import { factsOf } from '#contract/example.ts'
import { isPathIdName } from '#contract/id.ts'
import { type Input, type Option, UsageError } from '../command.ts'
import { parseMoment } from './moment.ts'

export function optionOf(name: string, schema: TSchema, is_required: boolean): Option {
  const { type, enum: values, items, format, description = '' } = factsOf(schema)
  const choices = values ?? (items === undefined ? undefined : factsOf(items).enum)
  const value = format === 'password' ? '-|@file' : format === 'date-time' ? momentName(schema) : valueName(schema)
  return {
    description: type === 'array' ? `${description} May be repeated.` : inWords(name, description),
    ...(type === 'boolean' && { value: yes_or_no.join('|'), choices: yes_or_no }),
    ...(type !== 'boolean' && { value: choices === undefined ? value : choices.length > 6 ? name : choices.join('|') }),
    ...(choices !== undefined && { choices }),
    ...(type === 'array' && { repeatable: true as const }),
    ...(is_required && { required: true as const }),
  }
}

export function kebabOf(name: string): string {
  return name.replaceAll('_', '-')
}

/** The member's value as the API wants it; undefined where the option was not given. */
export function valueOf(name: string, option: string, schema: TSchema, input: Input): unknown {
  const { type, items } = factsOf(schema)
  if (type === 'array') {
    // Of a list of known words, several may come at once; other texts may have commas of their own.
    const is_of_words = items !== undefined && factsOf(items).enum !== undefined
    const texts = input.texts(option).flatMap((text) => (is_of_words ? text.split(',') : [text]))
    return texts.length === 0 ? undefined : texts
  }
  const text = input.text(option)
  return text === undefined ? undefined : scalarOf(name, option, schema, text)
}

function scalarOf(name: string, option: string, schema: TSchema, text: string): unknown {
  const { type, format } = factsOf(schema)
  if (type === 'boolean') return text === yes_or_no[0]
  if (format === 'date-time' && text === never && mayBeNull(schema)) return null
  if (format === 'date-time') return parseMoment(text, new Date(), isAhead(name) ? 'in' : 'ago')
  if (format === 'password') {
    if (text === '-' || text.startsWith('@')) return textFrom(text).replace(/\r?\n$/, '')
    throw new UsageError(`--${option} takes - (stdin) or @file: other users of this machine see arguments`)
  }
  if (type === 'integer' || type === 'number') {
    if (!/^-?\d{1,15}(\.\d+)?$/.test(text) || (type === 'integer' && text.includes('.'))) {
      throw new UsageError(`--${option} must be ${type === 'integer' ? 'a whole number' : 'a number'}`)
    }
    return Number(text)
  }
  return type === 'object' ? jsonFrom(`--${option}`, text) : text
}

/** `-` is stdin, `@file` a file, all else the text itself. */
export function textFrom(text: string): string {
  if (text !== '-' && !text.startsWith('@')) return text
  const file = text === '-' ? 0 : text.slice(1)
  try {
    return readFileSync(file, 'utf8')
  } catch (error) {
    throw new UsageError(`${file === 0 ? 'stdin' : file} cannot be read`, { cause: error })
  }
}

export function jsonFrom(what: string, text: string): unknown {
  try {
    return JSON.parse(textFrom(text))
  } catch (error) {
    if (error instanceof UsageError) throw error
    throw new UsageError(`${what} is no JSON`, { cause: error })
  }
}

/** Moments are written more easily here than in JSON, and things have names. */
function inWords(name: string, description: string): string {
  if (isPathIdName(name)) return description.replace('The id of', 'The id or name of')
  const such_as = isAhead(name) ? '2h, tomorrow 14:00' : '15m ago, yesterday 14:00'
  return description.replace('RFC 3339, with a zone.', `Such as ${such_as}, 2030-01-31T12:00:00Z.`)
}

/** Which way a bare duration leads. */
const isAhead = (name: string) => name.startsWith('expires')

const yes_or_no = ['yes', 'no']
const never = 'never'
const momentName = (schema: TSchema) => (mayBeNull(schema) ? `moment|${never}` : 'moment')
const mayBeNull = (schema: TSchema) => factsOf(schema).type?.includes('null') === true

function valueName(schema: TSchema): string {
  const { type, format } = factsOf(schema)
  if (type === 'object') return 'json'
  if (type === 'integer' || type === 'number' || Array.isArray(type)) return 'number'
  return format === 'name' ? 'name' : 'text'
}
