// How answers look: tables, members, CSV, YAML, ids.
import { expect, test } from 'vitest'
import { Type } from '#contract/type.ts'
import { type Column, derivedColumns, type OutputFormat, printAnswer, yamlOf } from './output.ts'
import type { Terminal } from './terminal.ts'

const columns: readonly Column[] = ['name', 'status'].map((title) => ({ title, of: (item) => item[title] }))

function printed(answer: unknown, format: OutputFormat, more: { width?: number; is_read?: boolean } = {}): string {
  let text = ''
  const terminal = {
    print: (line: string) => {
      text += line
    },
    columns: more.width,
    coloured: (word: string) => (word === 'READY' ? `<${word}>` : word),
  } as Terminal // printing takes no more of it
  printAnswer(terminal, answer, { format, columns, is_read: more.is_read ?? true })
  return text
}

const list = [
  { id: 'a1', name: 'shop', status: 'READY' },
  { id: 'b2', name: 'a, "b"', status: null },
]

test('a list', () => {
  expect(printed(list, 'table')).toBe('NAME    STATUS\nshop    <READY>\na, "b"  -')
  expect(printed({ entries: list, last_cursor: 'x' }, 'table')).toBe(printed(list, 'table'))
  expect(printed(list, 'csv')).toBe('name,status\nshop,READY\n"a, ""b""",')
  expect(printed(list, 'name')).toBe('a1\nb2')
  expect(JSON.parse(printed(list, 'json'))).toEqual(list)
  expect(printed([], 'table')).toBe('')
})

test('what is too wide for a terminal is cut, and nothing elsewhere', () => {
  const wide = [{ name: 'x'.repeat(40), status: 'READY' }]
  expect(printed(wide, 'table', { width: 20 }).split('\n')[1]).toBe(`${'x'.repeat(11)}…  <READY>`)
  expect(printed(wide, 'table')).toContain('x'.repeat(40))
})

test('one thing: its members, those of objects below it; after a change a row', () => {
  const thing = { name: 'shop', endpoint: { host: 'h', port: 1 }, tags: ['a', 'b'], sets: [{ id: 1 }], none: null }
  expect(printed(thing, 'table')).toBe('name      shop\nendpoint\n  host  h\n  port  1\ntags      a, b\nsets\n  id  1')
  expect(printed(thing, 'table', { is_read: false })).toBe('NAME  STATUS\nshop  -')
})

test('a message is a sentence, a text itself, nothing is nothing', () => {
  expect(printed({ message: 'soon' }, 'table', { is_read: false })).toBe('soon')
  for (const format of ['table', 'json', 'yaml'] as const) expect(printed('-----BEGIN', format)).toBe('-----BEGIN')
  expect(printed(undefined, 'json')).toBe('')
})

test('a list of words: a line each', () => {
  for (const format of ['table', 'name', 'csv'] as const) expect(printed(['one', 'two'], format)).toBe('one\ntwo')
  expect(JSON.parse(printed(['one', 'two'], 'json'))).toEqual(['one', 'two'])
})

test('YAML', () => {
  const value = {
    name: 'shop',
    yes: 'yes',
    when: '2026-01-01',
    none: null,
    empty: [],
    of: [{ a: 1, b: { c: true } }, 'x: y'],
  }
  expect(yamlOf(value)).toBe(
    [
      'name: shop',
      '"yes": "yes"',
      'when: "2026-01-01"',
      'none: null',
      'empty: []',
      'of:',
      '  - a: 1',
      '    b:',
      '      c: true',
      '  - "x: y"',
    ].join('\n'),
  )
})

test('columns are the first members with one value', () => {
  const item = Type.Object({
    id: Type.String(),
    deep: Type.Object({}),
    kind: Type.Enum(['a']),
    when: Type.Optional(Type.String()),
  })
  for (const output of [Type.Array(item), Type.Object({ entries: Type.Array(item) }), item]) {
    expect(derivedColumns({ output }).map(({ title }) => title)).toEqual(['id', 'kind', 'when'])
  }
})
