// The keys that sign access tokens. Promises:
// 1. Each installation signs with its own key, which no other can read; all believe each other's public keys.
// 2. A key signs for 30 days at most; what it signed is believed for a day after, longer than any token lives.
// 3. Keys are read from the store at most five seconds ago, so a new or removed key is noticed within them.
import { createPublicKey, generateKeyPair, type JsonWebKey, type KeyObject } from 'node:crypto'
import { promisify } from 'node:util'
import { insertOperatorActOnKey } from '../audit/operator.ts'
import type { Db, Sql } from '../store/db.ts'
import { sql } from '../store/sql.ts'
import { newId } from '../id.ts'
import { newRateLimit } from '../http/rate-limit.ts'
import type { Secret } from '../secret.ts'

export const signing_alg = 'ES256'

const signing_days = 30
const believed_days = 1
const trust_ms = 5_000
/** For a token with an unknown key the store is read at once: another server may have just made it. For a flood of them it is not. */
const reads_for_unknown = { per_second: 2, burst: 20 }

type PublicJwk = JsonWebKey & { kid: string }
export type SigningKey = { kid: string; private_jwk: JsonWebKey }

export type Keys = {
  /** The key to sign with; makes one where there is none, or where the last one is too old. */
  signing(): Promise<SigningKey>
  listPublic(): Promise<readonly PublicJwk[]>
  /** For verifying; undefined for an unknown key. */
  find(kid: string): Promise<KeyObject | undefined>
}

export type KeyPlace = { db: Db; installation_id: string; secret: Secret }

type KeyRow = {
  kid: string
  installation_id: string
  public_jwk: JsonWebKey
  private_key: Buffer
  is_due: boolean
  retired_at: Date | null
}

export function newKeys(place: KeyPlace): Keys {
  let rows: Promise<KeyRow[]> | undefined
  let read_at = -Infinity
  const objects = new Map<string, KeyObject>()
  const reads = newRateLimit(reads_for_unknown)

  const list = (age_ms_max: number): Promise<KeyRow[]> => {
    if (rows !== undefined && performance.now() - read_at <= age_ms_max) return rows
    read_at = performance.now()
    const reading = listKeys(place.db)
    rows = reading
    reading.catch(() => {
      if (rows === reading) rows = undefined
    })
    return reading
  }

  return {
    signing: async () => {
      const known = openSigning(place, await list(trust_ms))
      if (known !== undefined) return known
      const made = await rotateKey(place, 'when due')
      rows = undefined
      return made
    },
    listPublic: async () => (await list(trust_ms)).map(publicOf),
    find: async (kid) => {
      const isIt = (row: KeyRow) => row.kid === kid
      let row = (await list(trust_ms)).find(isIt)
      if (row === undefined && reads.take('unknown') === 0) row = (await list(0)).find(isIt)
      if (row === undefined) return undefined
      const object = objects.get(kid) ?? createPublicKey({ key: row.public_jwk, format: 'jwk' })
      if (objects.size > 100) objects.clear()
      objects.set(kid, object)
      return object
    },
  }
}

/** Makes a new key for this installation, or returns the key that another server of it has just made. `at once`: for the operator. */
export async function rotateKey(place: KeyPlace, when: 'when due' | 'at once'): Promise<SigningKey> {
  const { installation_id, secret } = place
  const { publicKey, privateKey } = await promisify(generateKeyPair)('ec', { namedCurve: 'P-256' })
  return place.db.transaction(async (tx) => {
    await tx.query(sql`select pg_advisory_xact_lock(hashtextextended('oauth key of ' || ${installation_id}, 0))`)
    const current = openSigning(place, await listKeys(tx))
    if (current !== undefined && when === 'when due') return current
    await retireKeys(tx, installation_id)
    const kid = newId()
    const private_jwk = privateKey.export({ format: 'jwk' })
    const private_key = secret.seal(JSON.stringify(private_jwk), kid)
    await insertKey(tx, { kid, installation_id, public_jwk: publicKey.export({ format: 'jwk' }), private_key })
    if (when === 'at once') await insertOperatorActOnKey(tx, 'rotateKey', kid)
    return { kid, private_jwk }
  })
}

/** Tokens that they signed are refused from now on: for keys that may have leaked. Servers notice within five seconds. */
export async function removeRetiredKeys({ db, installation_id }: KeyPlace): Promise<number> {
  return db.transaction(async (tx) => {
    const rows = await tx.query(sql<{ kid: string }>`
      delete from oauth_keys where installation_id = ${installation_id} and retired_at is not null returning kid`)
    for (const { kid } of rows) await insertOperatorActOnKey(tx, 'removeKey', kid)
    return rows.length
  })
}

function openSigning({ installation_id, secret }: KeyPlace, rows: readonly KeyRow[]): SigningKey | undefined {
  const row = rows.find((row) => row.installation_id === installation_id && row.retired_at === null)
  if (row === undefined || row.is_due) return undefined
  // Undefined also when another secret.key sealed it: then a new key takes its place.
  const text = secret.open(row.private_key, row.kid)
  // We wrote it: it is a key as node exports it.
  return text === undefined ? undefined : { kid: row.kid, private_jwk: JSON.parse(text) as JsonWebKey }
}

const publicOf = ({ kid, public_jwk }: KeyRow): PublicJwk => ({ ...public_jwk, kid, alg: signing_alg, use: 'sig' })

async function listKeys(db: Sql): Promise<KeyRow[]> {
  return db.query(sql<KeyRow>`
    select kid, installation_id, public_jwk, private_key, retired_at,
           created < now() - make_interval(days => ${signing_days}) as is_due
    from oauth_keys where retired_at is null or retired_at > now() - make_interval(days => ${believed_days})
    order by created desc`)
}

async function insertKey(
  tx: Sql,
  key: Pick<KeyRow, 'kid' | 'installation_id' | 'public_jwk' | 'private_key'>,
): Promise<void> {
  await tx.query(sql`
    insert into oauth_keys (kid, installation_id, public_jwk, private_key)
    values (${key.kid}, ${key.installation_id}, ${JSON.stringify(key.public_jwk)}, ${key.private_key})`)
}

async function retireKeys(tx: Sql, installation_id: string): Promise<void> {
  await tx.query(sql`
    update oauth_keys set retired_at = now() where installation_id = ${installation_id} and retired_at is null`)
}
