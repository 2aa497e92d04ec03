// The installation's own secrets: files in the data directory that only the server's user can read. secret.key encrypts
// what must not be readable in the metadata store or in a backup of it, and derives what must not follow from it. Lost, it
// costs a new signing key, and the answers to creations with an Idempotency-Key cannot be repeated.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { undefinedIfAbsent } from '#providers/host/read.ts'
import { makeOnce } from './whole-file.ts'

export type Secret = {
  /** label: what it is for; the same one opens it. */
  seal(text: string, label: string): Buffer
  /** Undefined for a text that another secret sealed, or that is for another label. */
  open(sealed: Buffer, label: string): string | undefined
  /** The same bytes for the same salt and label; without the secret they cannot be computed. */
  derive(salt: Buffer, label: string, bytes: number): Buffer
}

const key_bytes = 32
const iv_bytes = 12
const tag_bytes = 16
const cipher_name = 'aes-256-gcm'
const token_form = /^[\x21-\x7e]{16,256}$/
const remove_it = 'remove it, and the server makes another one'

export async function openSecret(data_dir: string): Promise<Secret> {
  const file = join(data_dir, 'secret.key')
  const key = Buffer.from(await ensureSecretFile(file), 'base64url')
  if (key.length !== key_bytes) throw new Error(`${file} does not contain a key; ${remove_it}`)
  return newSecret(key)
}

export function newSecret(key: Buffer): Secret {
  return {
    seal: (text, label) => {
      const iv = randomBytes(iv_bytes)
      const cipher = createCipheriv(cipher_name, key, iv).setAAD(Buffer.from(label))
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()])
      return Buffer.concat([iv, cipher.getAuthTag(), body])
    },
    open: (sealed, label) => {
      try {
        const iv = sealed.subarray(0, iv_bytes)
        const decipher = createDecipheriv(cipher_name, key, iv, { authTagLength: tag_bytes })
        decipher.setAAD(Buffer.from(label)).setAuthTag(sealed.subarray(iv_bytes, iv_bytes + tag_bytes))
        const body = decipher.update(sealed.subarray(iv_bytes + tag_bytes))
        return Buffer.concat([body, decipher.final()]).toString('utf8')
      } catch {
        return undefined
      }
    },
    derive: (salt, label, bytes) => Buffer.from(hkdfSync('sha256', key, salt, label, bytes)),
  }
}

/** What Prometheus sends to read /metrics. */
export async function openMetricsToken(data_dir: string): Promise<string> {
  const file = join(data_dir, 'metrics-token')
  const token = await ensureSecretFile(file)
  if (!token_form.test(token)) throw new Error(`${file} must contain 16 to 256 visible ASCII characters; ${remove_it}`)
  return token
}

/** Made once and found again for ever; servers that start at once all read the same one. */
async function ensureSecretFile(file: string): Promise<string> {
  for (;;) {
    const text = await readFile(file, 'utf8').catch(undefinedIfAbsent)
    if (text !== undefined) return text.trim()
    await makeOnce(file, `${randomBytes(key_bytes).toString('base64url')}\n`)
  }
}
