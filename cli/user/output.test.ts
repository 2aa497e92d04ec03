// How answers look: tables, members, CSV, YAML, ids.
import { expect, test } from 'vitest'
import { Type } from '#contract/type.ts'
import { type Column, derivedColumns, type OutputFormat, printAnswer, yamlOf } from './output.ts'
import type { Terminal } from './terminal.ts'

const columns: readonly Column[] = ['name', 'status'].map((title) => ({ title, of: (item) => item[title] }))

type Printing = { width?: number; is_read?: boolean; columns?: readonly Column[] }

function printed(answer: unknown, format: OutputFormat, more: Printing = {}): string {
  let text = ''
  const terminal = {
    print: (line: string) => {
      text += line
    },
    say: (line: string) => {
      text += `(${line})`
    },
    columns: more.width,
    coloured: (word: string) => (word === 'READY' ? `<${word}>` : word),
  } as Terminal // printing takes no more of it
  printAnswer(terminal, answer, { format, columns: more.columns ?? columns, is_read: more.is_read ?? true })
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
  expect(printed([], 'table')).toBe('(There are none.)')
  expect(printed([], 'name')).toBe('')
})

test('what is too wide for a terminal is cut, and nothing elsewhere', () => {
  const wide = [{ name: 'x'.repeat(40), status: 'READY' }]
  expect(printed(wide, 'table', { width: 30 }).split('\n')[1]).toBe(`${'x'.repeat(21)}…  <READY>`)
  expect(printed(wide, 'table')).toContain('x'.repeat(40))
})

test('letters of two columns and marks of none keep columns aligned', () => {
  const names = [
    { name: '漢字🐘', status: 'READY' },
    { name: 'e\u0301', status: 'READY' },
    { name: 'shop-1', status: 'READY' },
  ]
  expect(printed(names, 'table').split('\n').slice(1)).toEqual([
    '漢字🐘  <READY>',
    'e\u0301       <READY>',
    'shop-1  <READY>',
  ])
  const wide = [{ name: '漢字'.repeat(10), status: 'READY' }]
  expect(printed(wide, 'table', { width: 30 }).split('\n')[1]).toBe(`${'漢字'.repeat(5)}…   <READY>`)
})

test('what tells a thing from others is whole in a narrow terminal, and columns that have no space are named', () => {
  const [name, status] = ['shop-of-26-characters-name', '127.0.0.1:40000']
  expect(printed([{ name, status }], 'table', { width: 40 }).split('\n')[1]).toBe(`shop-of-26-characters-…  ${status}`)
  expect(printed([{ name, status }], 'table', { width: 24 }).split('\n')).toEqual([
    'NAME',
    'shop-of-26-characters-n…',
    'More with -o json:',
    'status',
  ])
})

test('the last column is a sentence that goes on below itself', () => {
  const told = [{ name: 'shop', status: 'the disk is full, and 0123456789012345678901234567890 has no end' }]
  expect(printed(told, 'table', { width: 28 }).split('\n')).toEqual([
    'NAME  STATUS',
    'shop  the disk is full, and',
    '      0123456789012345678901',
    '      234567890 has no end',
  ])
})

test('CSV of a thing without columns has its own members', () => {
  const preview = { service_id: 'a1', port: 1, endpoint: { host: 'h' }, created: false }
  expect(printed(preview, 'csv', { columns: [] })).toBe('service_id,port,created\na1,1,false')
})

test('one thing: its members, those of objects below it; after a change a row', () => {
  const thing = { name: 'shop', endpoint: { host: 'h', port: 1 }, tags: ['a', 'b'], sets: [{ id: 1 }], none: null }
  expect(printed(thing, 'table')).toBe('name      shop\nendpoint\n  host  h\n  port  1\ntags      a, b\nsets\n  id  1')
  expect(printed(thing, 'table', { is_read: false })).toBe('NAME  STATUS\nshop  -')
})

test('of two spellings of a member one is shown, and programs get both', () => {
  const twins = { type: 'apiKey', apiKey: { name: 'x' }, api_key: { name: 'x' } }
  expect(printed(twins, 'table')).toBe('type     apiKey\napi_key\n  name  x')
  expect(JSON.parse(printed(twins, 'json'))).toEqual(twins)
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
