// Passwords: what fits, what does not, and a flood of them.
import { expect, test } from 'vitest'
import { Fault } from '#contract/fault.ts'
import { newPasswords, passwordProblem } from './password.ts'

const cheap = { memory_kib: 64, passes: 1 }

test('a password fits its verifier, which holds a salt of its own and the costs', async () => {
  const passwords = newPasswords()
  const verifier = await passwords.newVerifier('correct horse')
  expect(verifier).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$[\w+/]{22}\$[\w+/]{43}$/)
  expect(await passwords.fits('correct horse', verifier)).toBe(true)
  expect(await passwords.fits('Correct horse', verifier)).toBe(false)
  expect(await passwords.newVerifier('correct horse')).not.toBe(verifier)
  // Made with other costs before, it is still good.
  expect(await newPasswords(cheap).fits('correct horse', verifier)).toBe(true)
})

test('nothing fits where there is no verifier, or one that cannot be read', async () => {
  const passwords = newPasswords(cheap)
  expect(await passwords.fits('', undefined)).toBe(false)
  expect(await passwords.fits('anything', undefined)).toBe(false)
  expect(await passwords.fits('anything', '$argon2i$something')).toBe(false)
})

test('the same letters typed on another keyboard fit', async () => {
  const passwords = newPasswords(cheap)
  expect(await passwords.fits('cafe\u0301 au lait', await passwords.newVerifier('caf\u00e9 au lait'))).toBe(true)
})

test('a flood is refused beyond what may wait, and all who waited are answered', async () => {
  const passwords = newPasswords(cheap)
  const answers = await Promise.allSettled(Array.from({ length: 80 }, () => passwords.fits('x', undefined)))
  const refused = answers.filter((answer) => answer.status === 'rejected')
  expect(refused.length).toBe(28)
  expect(refused.every(({ reason }) => reason instanceof Fault && reason.code === 'UNAVAILABLE')).toBe(true)
  expect(await passwords.fits('x', undefined)).toBe(false)
})

test('what a new password must be', () => {
  expect(passwordProblem('ten letter', 'ada@example.com')).toBeUndefined()
  expect(passwordProblem('nine char', 'ada@example.com')).toContain('at least 10')
  expect(passwordProblem('x'.repeat(257), 'ada@example.com')).toContain('at most 256')
  expect(passwordProblem('with a \n in it', 'ada@example.com')).toContain('control')
})
