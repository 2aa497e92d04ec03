// The checker itself can fail: each kind of broken promise is found.
import { expect, test } from 'vitest'
import { missingIn, newLedger } from './ledger.ts'

const [kept, open, unknown, never] = [1, 2, 3, 4].map((number) => ({ writer: 0, number }))

function ledgerOfThree() {
  const ledger = newLedger()
  for (const write of [kept, open, unknown]) if (write) ledger.send(write)
  if (kept) ledger.end(kept, 'acknowledged')
  if (unknown) ledger.end(unknown, 'unknown')
  return ledger
}

const cases = [
  { what: 'only acknowledged rows', rows: [kept], lost: [], doubled: [], invented: [] },
  { what: 'also what got no answer', rows: [kept, open, unknown], lost: [], doubled: [], invented: [] },
  { what: 'nothing', rows: [], lost: ['0/1'], doubled: [], invented: [] },
  { what: 'an acknowledged write twice', rows: [kept, kept], lost: [], doubled: ['0/1'], invented: [] },
  { what: 'an unknown write twice', rows: [kept, unknown, unknown], lost: [], doubled: ['0/3'], invented: [] },
  { what: 'a row that no writer sent', rows: [kept, never], lost: [], doubled: [], invented: ['0/4'] },
]

test.each(cases)('the verdict on a database that has $what', ({ rows, lost, doubled, invented }) => {
  const found = rows.flatMap((row) => row ?? [])
  expect(ledgerOfThree().verdictOn(found)).toEqual({ lost, doubled, invented })
})

test('the same number of two writers is two writes', () => {
  const ledger = ledgerOfThree()
  expect(ledger.verdictOn([{ writer: 1, number: 1 }])).toEqual({ lost: ['0/1'], doubled: [], invented: ['1/1'] })
  expect(ledger.count('acknowledged')).toBe(1)
})

test('a read that lacks the last acknowledged write of one writer is found, and a complete read is not', () => {
  const ledger = newLedger()
  for (const write of [
    { writer: 0, number: 1 },
    { writer: 1, number: 1 },
    { writer: 0, number: 2 },
  ]) {
    ledger.send(write)
    ledger.end(write, 'acknowledged')
  }
  expect(ledger.latest()).toEqual([
    { writer: 0, number: 2 },
    { writer: 1, number: 1 },
  ])
  expect(missingIn([{ writer: 1, number: 1 }], ledger.latest())).toEqual(['0/2'])
  expect(missingIn(ledger.latest(), ledger.latest())).toEqual([])
})
