// The help texts, derived from the commands: on all of them, on a noun, on one, and where words name none.
import { nearestOf } from '#contract/nearest.ts'
import { version } from '#contract/version.ts'
import { findCommand, namesOf, type Option, type Positional, type Row, UsageError } from './command.ts'

/** footerOf: what stands below the help of each command. */
export type Group = { title: string; commands: readonly Row[]; footerOf?: (row: Row) => string }

const width_max = 100

/** The words on which help is asked for, none for help on everything; undefined: no help is asked for. */
export function helpWords(words: readonly string[]): string[] | undefined {
  // What follows -- is for another program.
  const own = words.includes('--') ? words.slice(0, words.indexOf('--')) : words
  const [first = 'help'] = own
  if (first !== 'help' && !own.includes('--help') && !own.includes('-h')) return undefined
  return own.slice(first === 'help' ? 1 : 0).filter((word) => !word.startsWith('-'))
}

export function helpOn(words: readonly string[], groups: readonly Group[]): string {
  if (words.length === 0) return generalHelp(version, groups)
  const all = groups.flatMap(({ commands }) => commands)
  const command = findCommand(all, words)?.command
  if (command)
    return commandHelp(command, groups.find(({ commands }) => commands.includes(command))?.footerOf?.(command))
  const of_noun = all.filter(({ name }) => `${name} `.startsWith(`${words.join(' ')} `))
  if (of_noun.length > 0) return nounHelp(words, of_noun)
  throw unknownCommand(words, all)
}

/** Verbs of one noun stand together, so that all fit on a screen. */
export function generalHelp(version: string, groups: readonly Group[]): string {
  const width = Math.max(...groups.flatMap(({ commands }) => [...byNoun(commands).keys()].map((noun) => noun.length)))
  const parts = groups.flatMap(({ title, commands }) => [title, ...nounLines(commands, width), ''])
  return [
    `Howdah ${version}: a self-hosted control plane for PostgreSQL services.`,
    '',
    'Usage: howdah <command> [options]',
    '',
    ...parts,
    `  ${'help'.padEnd(width)}  [command]: explain a command, or all of one noun.`,
    `  ${'version'.padEnd(width)}  Print the version.`,
    '',
    'Exit codes: 0 done, 1 could not be done, 2 written wrongly, 3 refused, 4 no login, 5 not allowed, 6 not found,',
    '            7 the time was up, 8 ended another way than wanted.',
  ].join('\n')
}

/** For words that several commands begin with. */
export function nounHelp(words: readonly string[], commands: readonly Row[]): string {
  const rows = commands.map(({ name, summary }): [string, string] => [`howdah ${name}`, summary])
  return [`Commands of ${words.join(' ')}:`, '', ...aligned(rows)].join('\n')
}

export function commandHelp(row: Row, footer?: string): string {
  const { summary, details, positionals = [], options = {}, rest } = row
  const after = rest === undefined ? '' : rest.optional === true ? ` [-- <${rest.name}>]` : ` -- <${rest.name}>`
  const lines = [`Usage: howdah ${row.name}${positionals.map(positionalText).join('')} [options]${after}`, '', summary]
  const [, ...others] = namesOf(row)
  if (others.length > 0) lines.push(`Also: ${others.map((name) => `howdah ${name}`).join(', ')}`)
  if (details !== undefined && details !== '') lines.push('', details)
  const rows = Object.entries(options).map(([name, option]): [string, string] => [
    optionText(name, option),
    option.required === true ? `${option.description} Required.` : option.description,
  ])
  if (rows.length > 0) lines.push('', 'Options:', ...aligned(rows))
  if (footer !== undefined) lines.push('', footer)
  return lines.join('\n')
}

function positionalText({ name, optional }: Positional): string {
  return optional === true ? ` [${name}]` : ` <${name}>`
}

function optionText(name: string, { value, value_optional, short }: Option): string {
  const letter = short === undefined ? '' : `-${short}, `
  if (value === undefined) return `${letter}--${name}`
  return value_optional === true ? `${letter}--${name}[=${value}]` : `${letter}--${name} <${value}>`
}

function byNoun(commands: readonly Row[]): Map<string, Row[]> {
  const grouped = new Map<string, Row[]>()
  for (const row of commands) {
    const noun = row.name.split(' ').slice(0, -1).join(' ') || row.name
    grouped.set(noun, [...(grouped.get(noun) ?? []), row])
  }
  return grouped
}

function nounLines(commands: readonly Row[], width: number): string[] {
  return [...byNoun(commands)].flatMap(([noun, rows]) => {
    const [only] = rows
    if (rows.length === 1 && only?.name === noun) return [`  ${noun.padEnd(width)}  ${only.summary}`]
    const bare = rows.flatMap(({ name, summary }) => (name === noun ? [summary] : []))
    const verbs = rows.flatMap(({ name }) => (name === noun ? [] : [name.slice(noun.length + 1)]))
    return [...bare, ...wrapped(verbs, width_max - width)].map(
      (line, index) => `  ${(index === 0 ? noun : '').padEnd(width)}  ${line}`,
    )
  })
}

function wrapped(words: readonly string[], columns: number): string[] {
  const lines = ['']
  words.forEach((word, index) => {
    const text = index === words.length - 1 ? word : `${word}, `
    if ((lines.at(-1) ?? '').length + text.length > columns) lines.push('')
    lines[lines.length - 1] += text
  })
  return lines.map((line) => line.trimEnd())
}

function aligned(rows: readonly [string, string][]): string[] {
  const width = Math.min(44, Math.max(...rows.map(([left]) => left.length)))
  return rows.map(([left, right]) => {
    return left.length > width ? `  ${left}\n  ${' '.repeat(width)}  ${right}` : `  ${left.padEnd(width)}  ${right}`
  })
}

/** The refusal of words that name no command: it says what can follow the words that do, and the nearest command. */
export function unknownCommand(words: readonly string[], commands: readonly Row[]): UsageError {
  const names = commands.map(({ name }) => name.split(' '))
  const fitting = (count: number) =>
    names.filter((name) => name.length > count && name.slice(0, count).every((word, at) => word === words[at]))
  const known = [2, 1].find((count) => fitting(count).length > 0) ?? 0
  const next = [...new Set(fitting(known).map((name) => name[known] ?? ''))]
  const head = ['howdah', ...words.slice(0, known)].join(' ')
  const wrong = words[known]
  if (wrong === undefined) return new UsageError(`say which: ${head} ${next.join(', ')}`)
  if (wrong.startsWith('-')) return new UsageError(`${wrong} stands where a command does; options follow it`)
  // The verb alone: most often that of a service.
  const of_noun = known === 0 ? names.find(([, verb]) => verb === wrong)?.join(' ') : undefined
  const meant = of_noun ?? nearestOf(wrong, next)
  const list = ['howdah help', ...words.slice(0, known)].join(' ')
  const way = meant === undefined ? `${list} lists them all` : `did you mean ${head} ${meant}?`
  return new UsageError(`there is no command ${JSON.stringify(words.slice(0, known + 1).join(' '))}; ${way}`)
}
