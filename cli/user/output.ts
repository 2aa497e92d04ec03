// Answers for people and for programs. json is the API's answer untouched; yaml is the same in another form; csv and table have columns;
// name has ids only, for pipes. Pure but for the last line of printAnswer.
import type { TSchema } from 'typebox'
import type { Endpoint } from '#contract/endpoint.ts'
import { factsOf } from '#contract/example.ts'
import { cutTo, widthOf } from '../width.ts'
import type { Terminal } from './terminal.ts'

export const output_formats = ['table', 'json', 'yaml', 'csv', 'name'] as const
export type OutputFormat = (typeof output_formats)[number]

type Item = Record<string, unknown>

/** Of a list: its title, and what is shown of an item: a member by its path, or by a function. */
export type Column = { title: string; of: (item: Item) => unknown }

const derived_columns_max = 7
/** An id, an endpoint and a moment are no longer, and are worth nothing cut. */
const whole_chars = 20
const indent = '  '

export function printAnswer(
  terminal: Terminal,
  answer: unknown,
  { format, columns, is_read }: { format: OutputFormat; columns: readonly Column[]; is_read: boolean },
): void {
  const text = textOf(answer, format, columns, is_read, terminal)
  if (text !== '') terminal.print(text)
  else if (format === 'table' && itemsOf(answer)?.length === 0) terminal.say('There are none.')
}

function textOf(
  answer: unknown,
  format: OutputFormat,
  columns: readonly Column[],
  is_read: boolean,
  terminal: Terminal,
): string {
  if (typeof answer === 'string') return answer
  if (format === 'json') return answer === undefined ? '' : JSON.stringify(answer, undefined, 2)
  if (format === 'yaml') return answer === undefined ? '' : yamlOf(answer)
  if (Array.isArray(answer) && answer.length > 0 && answer.every((one) => typeof one === 'string'))
    return answer.join('\n')
  const items = itemsOf(answer)
  if (format === 'name') return (items ?? [answer]).map((item) => idOf(item)).join('\n')
  const rows = items ?? (isItem(answer) ? [answer] : [])
  if (format === 'csv') return csvOf(rows, columns.length > 0 ? columns : ownColumns(rows))
  if (items === undefined && isItem(answer)) {
    const { message, ...others } = answer
    if (Object.keys(others).length === 0) return typeof message === 'string' ? message : ''
    if (is_read) return memberLines(answer, terminal)
  }
  return rows.length === 0 ? '' : tableOf(rows, columns, terminal)
}

/** The items of a list, which is the answer itself or its `entries`. */
export function itemsOf(answer: unknown): Item[] | undefined {
  const list = isItem(answer) ? answer['entries'] : answer
  return Array.isArray(list) ? list.filter(isItem) : undefined
}

/** What tells an item from others: its id, or the first member that ends like one. */
function idOf(item: unknown): string {
  if (!isItem(item)) return ''
  const name = ['service_id', 'id', 'public_key', 'user_id', 'name'].find((name) => item[name] !== undefined)
  return name === undefined ? '' : cellOf(item[name])
}

/** Each shows the member of its name. */
export const columnsOf = (names: readonly string[]): Column[] =>
  names.map((title) => ({ title, of: (row) => row[title] }))

/** The first members of an item that have one value. */
export function derivedColumns({ output }: Pick<Endpoint, 'output'>): Column[] {
  if (output === undefined) return []
  const item = itemSchemaOf(output)
  const scalars = Object.entries(factsOf(item).properties ?? {}).filter(([, member]) => isScalar(member))
  return columnsOf(scalars.slice(0, derived_columns_max).map(([name]) => name))
}

function itemSchemaOf(output: TSchema): TSchema {
  const { items, properties } = factsOf(output)
  const entries = properties?.['entries']
  return items ?? (entries === undefined ? undefined : factsOf(entries).items) ?? output
}

function isScalar(schema: TSchema): boolean {
  const { type, enum: values } = factsOf(schema)
  return values !== undefined || ['string', 'integer', 'number', 'boolean'].some((one) => one === type)
}

function isItem(value: unknown): value is Item {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function cellsOf(rows: readonly Item[], columns: readonly Column[]): string[][] {
  return rows.map((row) => columns.map(({ of }) => cellOf(of(row))))
}

function cellOf(value: unknown): string {
  if (value === undefined || value === null) return ''
  const text = typeof value === 'string' ? value : JSON.stringify(value)
  // Milliseconds of a moment say nothing to people.
  return /^\d{4}-\d\d-\d\dT[\d:]{8}\.\d+Z$/.test(text) ? text.replace(/\.\d+Z$/, 'Z') : text
}

/** The last column of all goes on below itself, others are cut; the last ones are left out, and named, where that is not enough. */
function tableOf(rows: readonly Item[], columns: readonly Column[], terminal: Terminal): string {
  const head = columns.map(({ title }) => title.toUpperCase().replaceAll('_', ' '))
  const lines = [head, ...cellsOf(rows, columns).map((line) => line.map((cell) => oneLine(cell) || '-'))]
  const whole = head.map((_, index) => Math.max(...lines.map((line) => widthOf(line[index] ?? ''))))
  const widths = fitted(whole, terminal.columns ?? Number.POSITIVE_INFINITY)
  const left_out = columns.slice(widths.length).map(({ title }) => title)
  const folded = left_out.length > 0 ? lines : lines.flatMap((line) => foldedLines(line, widths))
  const table = folded.map((line) =>
    widths
      .map((width, index) => padded(line[index] ?? '', width, terminal))
      .join('  ')
      .trimEnd(),
  )
  if (left_out.length === 0) return table.join('\n')
  const more = foldedLines([`More with -o json: ${left_out.join(', ')}`], [terminal.columns ?? 0])
  return [...table, ...more.flat()].join('\n')
}

const totalOf = (widths: readonly number[]) => sumOf(widths) + 2 * (widths.length - 1)

/** The widths of the columns that are shown: the widest is cut first. */
function fitted(whole: readonly number[], width_max: number): number[] {
  const widths = [...whole]
  while (widths.length > 1 && totalOf(widths.map((width) => Math.min(width, whole_chars))) > width_max) widths.pop()
  for (let over = totalOf(widths) - width_max; over > 0; over -= 1) {
    const widest = widths.indexOf(Math.max(...widths))
    widths[widest] = Math.max(4, (widths[widest] ?? 0) - 1)
  }
  return widths
}

/** Between words, or within a word that is longer than the column. */
function foldedLines(line: readonly string[], widths: readonly number[]): string[][] {
  const width = widths.at(-1) ?? 0
  const parts = (line.at(-1) ?? '').match(new RegExp(`\\S.{0,${width - 1}}(?=\\s|$)|\\S{1,${width}}`, 'gu')) ?? ['']
  return parts.map((part, index) => [...(index === 0 ? line.slice(0, -1) : line.slice(0, -1).map(() => '')), part])
}

function padded(cell: string, width: number, terminal: Terminal): string {
  const shown = cutTo(cell, width)
  return terminal.coloured(shown) + ' '.repeat(Math.max(0, width - widthOf(shown)))
}

/** `status  READY`, a member a line; below an object its members. */
function memberLines(item: Item, terminal: Terminal, before = ''): string {
  const members = Object.entries(item).filter(
    ([name, value]) => value !== undefined && value !== null && !hasTwin(item, name),
  )
  const width = Math.max(...members.map(([name]) => name.length))
  return members
    .map(([name, value]) => {
      if (isItem(value)) return `${before}${name}\n${memberLines(value, terminal, before + indent)}`
      if (Array.isArray(value) && value.some(isItem)) {
        const parts = value.filter(isItem).map((part) => memberLines(part, terminal, before + indent))
        return `${before}${name}\n${parts.join('\n\n')}`
      }
      const shown = Array.isArray(value) ? value.map(cellOf).join(', ') || '-' : terminal.coloured(cellOf(value))
      return `${before}${name.padEnd(width)}  ${shown}`
    })
    .join('\n')
}

/** The spec's `apiKey` stands beside `api_key`, with the same value. */
function hasTwin(item: Item, name: string): boolean {
  return (
    /[A-Z]/.test(name) &&
    Object.hasOwn(
      item,
      name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`),
    )
  )
}

/** Members of the first item with one value. */
function ownColumns([item = {}]: readonly Item[]): Column[] {
  return columnsOf(Object.entries(item).flatMap(([name, value]) => (Object(value) === value ? [] : [name])))
}

function csvOf(rows: readonly Item[], columns: readonly Column[]): string {
  return [columns.map(({ title }) => title), ...cellsOf(rows, columns)].map(csvLine).join('\n')
}

export function csvLine(cells: readonly string[]): string {
  return cells.map((cell) => (/[",\n\r]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell)).join(',')
}

/** Plain JSON values as YAML. Texts are quoted as in JSON, which YAML reads, unless they are plain words. */
export function yamlOf(value: unknown, before = ''): string {
  if (Array.isArray(value) && value.length > 0) {
    return value.map((item) => `${before}- ${yamlOf(item, `${before}  `).trimStart()}`).join('\n')
  }
  if (isItem(value) && Object.keys(value).length > 0) {
    const members = Object.entries(value).filter(([, member]) => member !== undefined)
    return members
      .map(([name, member]) => {
        const is_block = typeof member === 'object' && member !== null && Object.keys(member).length > 0
        return `${before}${scalarOf(name)}:${is_block ? `\n${yamlOf(member, `${before}  `)}` : ` ${scalarOf(member)}`}`
      })
      .join('\n')
  }
  return before + scalarOf(value)
}

function scalarOf(value: unknown): string {
  const is_plain =
    typeof value === 'string' &&
    /^[A-Za-z][\w./-]*$/.test(value) &&
    !/^(true|false|null|yes|no|on|off|y|n)$/i.test(value)
  return is_plain ? value : JSON.stringify(value)
}

function oneLine(text: string): string {
  return text.split('\n')[0] ?? ''
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, number) => sum + number, 0)
}
