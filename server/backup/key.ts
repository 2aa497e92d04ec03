// A key of the repository, in restic's own form: the repository's master key, encrypted with a password. restic makes each try of a password
// dear, half a second of a processor, and pays that in every run itself, several times a minute. Our passwords are 256 random bits, which
// no trying finds: the key of daily use is as cheap as restic reads one. (A run of restic took 0.50 s of a processor, and takes 0.02 s.)
// restic itself makes the key of recovery: it is used once, on the worst of days.
import { createCipheriv, createHash, randomBytes, scryptSync } from 'node:crypto'
import { chown, rename, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { AwsClient } from 'aws4fetch'
import { mayGiveUsers } from '#providers/host/privilege.ts'
import { syncFileSystem } from '#providers/host/sync.ts'
import { unprivileged } from '#providers/host/user-map.ts'
import type { BackupTarget } from '../backup-target.ts'
import type { Restic, Secrets } from './restic.ts'

type At = { target: BackupTarget; secrets: Secrets }

const timeout_seconds = 60
/** restic asks for a power of two. */
const scrypt = { N: 1024, r: 8, p: 1 }
/** As long as restic's own. */
const salt_bytes = 64

/** restic: opened by another key. Its id. No lock is needed: a key changes nothing that is there. */
export async function addKey(restic: Restic, at: At, password: string): Promise<string> {
  const master_key = await restic(['cat', 'masterkey', '--no-lock'], { timeout_seconds })
  const text = keyOf(password, Buffer.from(master_key))
  const id = createHash('sha256').update(text).digest('hex')
  await (at.target.folder === undefined ? putIntoBucket(at, id, text) : putIntoFolder(at.target.folder, id, text))
  // A store that said yes may have put it where restic does not look.
  await restic(['cat', 'key', id, '--no-lock'], { timeout_seconds })
  return id
}

function keyOf(password: string, master_key: Buffer): string {
  const salt = randomBytes(salt_bytes)
  const derived = scryptSync(password, salt, 64, scrypt)
  const [encryption, k, r] = [derived.subarray(0, 32), derived.subarray(32, 48), derived.subarray(48)]
  const nonce = randomBytes(16)
  const cipher = createCipheriv('aes-256-ctr', encryption, nonce)
  const encrypted = Buffer.concat([cipher.update(master_key), cipher.final()])
  const data = Buffer.concat([nonce, encrypted, authenticatorOf(encrypted, { k, r, nonce })])
  const named = { created: new Date().toISOString(), username: 'howdah', hostname: 'howdah', kdf: 'scrypt' }
  return JSON.stringify({ ...named, ...scrypt, salt: salt.toString('base64'), data: data.toString('base64') })
}

type PolyKey = { k: Buffer; r: Buffer; nonce: Buffer }

/** Poly1305-AES of a message, which is short: a polynomial in r over its blocks, and AES of the nonce. */
function authenticatorOf(message: Buffer, { k, r, nonce }: PolyKey): Buffer {
  const prime = 2n ** 130n - 5n
  const factor = numberOf(r) & 0x0ffffffc_0ffffffc_0ffffffc_0fffffffn
  let sum = 0n
  for (let at = 0; at < message.length; at += 16) {
    const block = Buffer.concat([message.subarray(at, at + 16), Buffer.of(1)])
    sum = ((sum + numberOf(block)) * factor) % prime
  }
  const cipher = createCipheriv('aes-128-ecb', k, null).setAutoPadding(false)
  const total = BigInt.asUintN(128, sum + numberOf(cipher.update(nonce)))
  return reversed(Buffer.from(total.toString(16).padStart(32, '0'), 'hex'))
}

/** Little-endian. */
const numberOf = (bytes: Buffer) => BigInt(`0x${reversed(bytes).toString('hex')}`)
const reversed = (bytes: Buffer) => Buffer.from(bytes.toReversed())

/** Whole when it has its name, and of the user which restic has. */
async function putIntoFolder(folder: string, id: string, text: string): Promise<void> {
  const aside = join(folder, `${id}.new`)
  try {
    await writeFile(aside, text, { mode: 0o400, flush: true })
    if (mayGiveUsers()) await chown(aside, unprivileged.uid, unprivileged.gid)
    await rename(aside, join(folder, 'keys', id))
  } catch (error) {
    await rm(aside, { force: true })
    throw error
  }
  await syncFileSystem(join(folder, 'keys'))
}

async function putIntoBucket({ target, secrets }: At, id: string, text: string): Promise<void> {
  const { aws_access_key_id: accessKeyId = '', aws_secret_access_key: secretAccessKey = '' } = secrets
  const url = `${target.repository.replace(/^s3:/, '')}/keys/${id}`
  const put = (region: string) => {
    const signal = AbortSignal.timeout(timeout_seconds * 1000)
    const client = new AwsClient({ accessKeyId, secretAccessKey, service: 's3', region, retries: 2 })
    return client.fetch(url, { method: 'PUT', body: text, signal })
  }
  const first = await put('us-east-1')
  const region = first.headers.get('x-amz-bucket-region')
  const answer = first.ok || region === null ? first : await put(region)
  if (!answer.ok) throw new Error(`the bucket refused a key of the repository: ${answer.status} ${await answer.text()}`)
}
