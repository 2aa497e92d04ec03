// What the sql template makes of its holes.
import { expect, test } from 'vitest'
import { fragment, sql } from './sql.ts'

const columns = fragment`id, name`

test('a value becomes a parameter, also one that looks like SQL or like a fragment', () => {
  const name = `'; drop table vpcs; --`
  // As if it came out of a request's JSON.
  const forged = JSON.parse('[{"text":"true"}]') as string[]
  const statement = sql`select ${columns} from vpcs where name = ${name} and id = any (${forged}) and ${null}::text is null`
  expect(statement).toEqual({
    text: 'select id, name from vpcs where name = $1 and id = any ($2) and $3::text is null',
    values: [name, forged, null],
  })
})

test('a fragment may consist of others', () => {
  expect(sql`${fragment`select ${columns}, ${'a'} from vpcs`} where id = ${7}`).toEqual({
    text: 'select id, name, a from vpcs where id = $1',
    values: [7],
  })
})

test('one place in the code is one statement for each fragment that it chooses', () => {
  const by = { id: fragment`id`, name: fragment`name` }
  const find = (key: keyof typeof by, value: string) => sql`select from vpcs where ${by[key]} = ${value}`
  for (const _ of [1, 2]) {
    expect(find('id', 'a')).toEqual({ text: 'select from vpcs where id = $1', values: ['a'] })
    expect(find('name', 'b')).toEqual({ text: 'select from vpcs where name = $1', values: ['b'] })
  }
})
