// Positions in WAL: what PostgreSQL writes comes back as it was.
import { expect, test } from 'vitest'
import { lsnText, parseLsn } from './lsn.ts'

test('positions are read and written as PostgreSQL does', () => {
  for (const text of ['0/0', '0/3000060', '1A/FF00BC', 'FFFFFFFF/FFFFFFFF']) expect(lsnText(parseLsn(text))).toBe(text)
  expect(parseLsn('1/0')).toBe(2n ** 32n)
})
