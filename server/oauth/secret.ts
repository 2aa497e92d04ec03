// The installation's own secret: a file in the data directory that only the server's user can read. It encrypts what
// must not be readable in the metadata store or in a backup of it. Lost, it costs nothing but a new signing key.
import { createCipheriv, createDecipheriv, randomBytes, randomUUID } from 'node:crypto'
import { link, readFile, unlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'

export type Secret = {
  /** label: what it is for; the same one opens it. */
  seal(text: string, label: string): Buffer
  /** Undefined for what was sealed by another secret or for another label. */
  open(sealed: Buffer, label: string): string | undefined
}

const key_bytes = 32
const iv_bytes = 12
const tag_bytes = 16
const cipher_name = 'aes-256-gcm'

export async function openSecret(data_dir: string): Promise<Secret> {
  const key = await ensureKey(join(data_dir, 'secret.key'))
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
  }
}

async function ensureKey(file: string): Promise<Buffer> {
  for (;;) {
    const text = await readFile(file, 'utf8').catch(unlessCode('ENOENT'))
    if (text !== undefined) {
      const key = Buffer.from(text.trim(), 'base64url')
      if (key.length === key_bytes) return key
      throw new Error(`${file} does not hold a key; remove it, and the server makes another one`)
    }
    // link, not rename: the first one wins and the others read what it wrote.
    const aside = `${file}.${randomUUID()}`
    await writeFile(aside, `${randomBytes(key_bytes).toString('base64url')}\n`, { mode: 0o600, flush: true })
    await link(aside, file).catch(unlessCode('EEXIST'))
    await unlink(aside)
  }
}

function unlessCode(code: string) {
  return (error: unknown): undefined => {
    if (error instanceof Error && 'code' in error && error.code === code) return undefined
    throw error
  }
}
