// Verifiers against the published SCRAM test vector's arithmetic, and the rules of passwords.
import { createHash, createHmac, pbkdf2Sync } from 'node:crypto'
import { expect, test } from 'vitest'
import { newSecret } from '../secret.ts'
import { newPassword, newPasswordSalt, newVerifier, passwordOf, passwordProblem } from './password.ts'

test('a verifier proves its password and no other', async () => {
  const verifier = await newVerifier('correct horse')
  const [, iterations, salt, stored_key, server_key] =
    /^SCRAM-SHA-256\$(\d+):([^$]+)\$([^:]+):(.+)$/.exec(verifier) ?? []
  const keys = (password: string) => {
    const salted = pbkdf2Sync(password, Buffer.from(salt ?? '', 'base64'), Number(iterations), 32, 'sha256')
    const client_key = createHmac('sha256', salted).update('Client Key').digest()
    return {
      stored_key: createHash('sha256').update(client_key).digest('base64'),
      server_key: createHmac('sha256', salted).update('Server Key').digest('base64'),
    }
  }
  expect(keys('correct horse')).toEqual({ stored_key, server_key })
  expect(keys('correct horse ')).not.toEqual({ stored_key, server_key })
})

test('two verifiers of one password differ', async () => {
  expect(await newVerifier('same password')).not.toBe(await newVerifier('same password'))
})

test('a generated password has 32 URL-safe characters', () => {
  expect(newPassword()).toMatch(/^[A-Za-z0-9_-]{32}$/)
  expect(newPassword()).not.toBe(newPassword())
})

test('a key and a salt give the same password again, another salt another one', () => {
  const secret = newSecret(Buffer.alloc(32, 1))
  const salt = newPasswordSalt(secret)
  const password = passwordOf(secret, 'key', salt)
  expect(password).toMatch(/^[A-Za-z0-9_-]{32}$/)
  expect(passwordOf(secret, 'key', salt)).toBe(password)
  expect(passwordOf(secret, 'key', newPasswordSalt(secret))).not.toBe(password)
  expect(passwordOf(secret, 'other', salt)).not.toBe(password)
})

test('a salt of another secret, or of none, gives no password', () => {
  const secret = newSecret(Buffer.alloc(32, 1))
  expect(passwordOf(secret, 'key', newPasswordSalt(newSecret(Buffer.alloc(32, 2))))).toBeUndefined()
  expect(passwordOf(secret, 'key', Buffer.alloc(16, 1))).toBeUndefined()
  expect(passwordOf(secret, 'key', Buffer.of())).toBeUndefined()
})

test.each([
  ['plain ascii', undefined],
  ['pässwörd', undefined],
  ['пароль123', undefined],
  ['pa\u0301ssword', 'normal form'],
  ['ﬁnancial', 'normal form'],
  ['non\u00a0breaking', 'normal form'],
  ['lone\ud800surrogate', 'well-formed'],
])('%j: %s', (password, problem) => {
  if (problem === undefined) expect(passwordProblem(password)).toBeUndefined()
  else expect(passwordProblem(password)).toContain(problem)
})
