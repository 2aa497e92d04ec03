// Ids have the form that the API promises.
import { expect, test } from 'vitest'
import { id_form, newId } from './id.ts'

test('an id is ten characters of a–z and 0–9', () => {
  for (let i = 0; i < 1000; i++) expect(newId()).toMatch(id_form)
})

test('ids differ and use the whole alphabet', () => {
  const ids = Array.from({ length: 2000 }, newId)
  expect(new Set(ids).size).toBe(2000)
  expect(new Set(ids.join('')).size).toBe(36)
})
