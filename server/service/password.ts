// Passwords: generated, or checked, and turned into the SCRAM-SHA-256 verifier that PostgreSQL stores. The verifier is
// the only thing that leaves this file for the store; a password itself is in an answer once, or nowhere.
import { createHash, createHmac, pbkdf2, randomBytes } from 'node:crypto'
import { promisify } from 'node:util'
import type { Secret } from '../secret.ts'

const scram_iterations = 4096
export const salt_bytes = 16
export const password_bytes = 24 // 32 characters of base64url

export function newPassword(): string {
  return randomBytes(password_bytes).toString('base64url')
}

/** For passwordOf. Its second half tells the secret that made it from others. */
export function newPasswordSalt(secret: Secret): Buffer {
  const random = randomBytes(salt_bytes)
  return Buffer.concat([random, markOf(secret, random)])
}

/**
 * The same key and salt give the same password: a repeated request can be answered without keeping the password. Only with
 * the installation's secret: a key is often easy to guess, and the salt stands in the store. Undefined for the salt of
 * another secret.
 */
export function passwordOf(secret: Secret, idempotency_key: string, salt: Buffer): string | undefined {
  if (!salt.subarray(salt_bytes).equals(markOf(secret, salt.subarray(0, salt_bytes)))) return undefined
  return secret.derive(salt, `initial password ${idempotency_key}`, password_bytes).toString('base64url')
}

function markOf(secret: Secret, random: Buffer): Buffer {
  return secret.derive(random, 'salt of initial passwords', salt_bytes)
}

export async function newVerifier(password: string, salt: Buffer = randomBytes(salt_bytes)): Promise<string> {
  const salted = await promisify(pbkdf2)(password, salt, scram_iterations, 32, 'sha256')
  const stored_key = createHash('sha256').update(hmac(salted, 'Client Key')).digest('base64')
  const server_key = hmac(salted, 'Server Key').toString('base64')
  return `SCRAM-SHA-256$${scram_iterations}:${salt.toString('base64')}$${stored_key}:${server_key}`
}

/** Why this password cannot be used; undefined when it can. Length and control characters are the schema's. */
export function passwordProblem(password: string): string | undefined {
  if (!password.isWellFormed()) return 'must be well-formed Unicode'
  // Clients differ in whether they normalise before hashing (SASLprep); such a password would work in some of them only.
  if (password.normalize('NFKC') !== password || /\p{Zs}/u.test(password.replaceAll(' ', ''))) {
    return 'must be in Unicode normal form KC, without spaces other than U+0020: others log in with some clients only'
  }
  return undefined
}

function hmac(key: Buffer, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest()
}
