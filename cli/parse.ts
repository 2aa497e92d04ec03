// From the words of the command line to a command's input. All that is written wrongly is refused at once.
import { parseArgs } from 'node:util'
import { nearestOf } from '#contract/nearest.ts'
import { type Input, type Option, type Options, type Positional, type Row, UsageError } from './command.ts'

export function parseInput(row: Row, words: readonly string[]): Input {
  const { options = {}, positionals: names = [], rest: rest_row } = row
  const end = rest_row === undefined ? -1 : words.indexOf('--')
  const rest = end === -1 ? [] : words.slice(end + 1)
  const { values, wrong, positionals, after_unknown, problems } = split(
    options,
    end === -1 ? words : words.slice(0, end),
  )
  const isThere = (name: string) => values.has(name) || wrong.has(name)
  const given = assign(names, positionals, isThere)
  const has_whole = row.whole !== undefined && values.has(row.whole)
  if (positionals.length > given.size && !after_unknown.has(given.size))
    problems.push(`what is ${JSON.stringify(positionals[given.size])}?`)
  for (const { name, optional, or_option } of names) {
    const is_there = given.has(name) || (or_option === true && (isThere(name) || has_whole))
    if (!is_there && optional !== true) problems.push(`<${name}> is missing`)
  }
  if (rest_row !== undefined && rest_row.optional !== true && rest.length === 0) {
    problems.push(`-- <${rest_row.name}> is missing`)
  }
  for (const [name, option] of Object.entries(options)) {
    if (option.required === true && !isThere(name) && !given.has(name) && !has_whole) {
      problems.push(`--${name} <${option.value}> is missing`)
    }
    const value = values.get(name)?.at(-1)
    if (option.required === true && value !== undefined && /^ *$/.test(value)) problems.push(`--${name} is empty`)
  }
  if (problems.length > 0) throw new UsageError(`${problems.join('; ')} (howdah help ${row.name})`)
  const text = (name: string) => values.get(name)?.at(-1) ?? given.get(name)
  return {
    text,
    texts: (name) => values.get(name) ?? [],
    need: (name) => {
      const value = text(name)
      if (value === undefined) throw new UsageError(`${name} is missing (howdah help ${row.name})`)
      return value
    },
    isSet: (name) => values.has(name),
    rest,
  }
}

/** Where fewer are given than there could be, the optional ones are left out, the first of them first. */
function assign(
  all: readonly Positional[],
  given: readonly string[],
  isOption: (name: string) => boolean,
): Map<string, string> {
  const names = all.filter(({ name, or_option }) => or_option !== true || !isOption(name))
  let missing = names.length - given.length
  const taken = names.filter(({ optional }) => {
    const is_left_out = optional === true && missing > 0
    if (is_left_out) missing -= 1
    return !is_left_out
  })
  return new Map(given.flatMap((word, index) => (taken[index] === undefined ? [] : [[taken[index].name, word]])))
}

function split(own: Options, words: readonly string[]) {
  const values = new Map<string, string[]>()
  const wrong = new Set<string>()
  const positionals: string[] = []
  /** Which of them may be the values of options that are not known. */
  const after_unknown = new Set<number>()
  const problems: string[] = []
  const options = Object.fromEntries(
    Object.entries(own).map(([name, option]) => [
      name,
      {
        type: takesValue(option) ? ('string' as const) : ('boolean' as const),
        ...(option.short !== undefined && { short: option.short }),
      },
    ]),
  )
  for (const token of parseArgs({ args: [...words], options, strict: false, tokens: true }).tokens) {
    if (token.kind === 'positional') positionals.push(token.value)
    if (token.kind !== 'option') continue
    const option = Object.hasOwn(own, token.name) ? own[token.name] : undefined
    const nearest = option === undefined ? nearestOption(token.rawName.replace(/^-+/, ''), own) : undefined
    const problem = problemOf(option, token, nearest)
    if (problem === undefined) values.set(token.name, [...(values.get(token.name) ?? []), token.value ?? ''])
    else {
      problems.push(problem)
      wrong.add(nearest ?? token.name)
      if (option === undefined) after_unknown.add(positionals.length)
    }
  }
  return { values, wrong, positionals, after_unknown, problems }
}

type Token = { rawName: string; value?: string | undefined; inlineValue?: boolean | undefined }

function problemOf(option: Option | undefined, token: Token, nearest: string | undefined): string | undefined {
  const { rawName, value, inlineValue } = token
  if (option === undefined)
    return `there is no option ${rawName}${nearest === undefined ? '' : `; did you mean --${nearest}?`}`
  const needs_value = takesValue(option)
  const next_option = inlineValue !== true && value?.startsWith('--') === true
  if (needs_value && (value === undefined || next_option)) return `${rawName} needs a value`
  if (!needs_value && option.value_optional !== true && value !== undefined) return `${rawName} takes no value`
  const { choices } = option
  const given = option.repeatable === true ? (value ?? '').split(',') : [value ?? '']
  if (value === undefined || choices === undefined || given.every((one) => choices.includes(one))) return undefined
  return `${rawName} must be one of ${choices.join(', ')}`
}

/** By its own name, or by that of the member that it stands for. */
function nearestOption(word: string, known: Options): string | undefined {
  const all = Object.entries(known)
  const nearest = nearestOf(word, [...Object.keys(known), ...all.flatMap(([, { member }]) => member ?? [])])
  return all.find(([name, { member }]) => nearest === name || (nearest !== undefined && nearest === member))?.[0]
}

function takesValue({ value, value_optional }: Option): boolean {
  return value !== undefined && value_optional !== true
}
