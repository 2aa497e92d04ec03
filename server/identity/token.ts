// Personal access tokens: made once, verified at every request. Promises:
// 1. The secret exists in clear only in createToken's answer; the store has its SHA-256 (it is random, so that is enough).
// 2. A verified credential is believed for at most three seconds; then the store is asked again. So a revoked token, a
//    changed role or a removed member takes effect within that time, in every server process.
// 3. What is wrong with a credential is never said: every kind of bad one is simply not a caller.
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Db, Sql } from '../db.ts'
import type { Caller } from '../handler.ts'
import { type CallerRow, findCaller, insertToken, listTokens, removeToken, saveTokenUse } from './store.ts'

export { listTokens }

const trust_ms = 3_000
const trusted_max = 10_000
const use_pace_seconds = 60
const secret_bytes = 30

/** 32 letters that people do not confuse, so that five random bits choose one without bias. */
const public_key_letters = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'
const public_key_characters = 16

const pair_form = /^([A-Z0-9]{10,32})[.:]([A-Za-z0-9_-]{32,128})$/

export async function createToken(
  tx: Sql,
  token: { name: string; project_id: string; user_id: number; expires_at?: Date },
): Promise<{ public_key: string; secret_key: string }> {
  const public_key = [...randomBytes(public_key_characters)]
    .map((byte) => public_key_letters.charAt(byte % 32))
    .join('')
  const secret_key = randomBytes(secret_bytes).toString('base64url')
  await insertToken(tx, { ...token, public_key, secret_hash: hashOf(secret_key), expires_at: token.expires_at ?? null })
  return { public_key, secret_key }
}

/** False when there was no such token. */
export async function revokeToken(sql: Sql, public_key: string): Promise<boolean> {
  return removeToken(sql, public_key)
}

type Trusted = { caller: Promise<Caller | undefined>; until: number }

/** Who the `Authorization` header speaks for; undefined for nobody. */
export function newAuthenticator(db: Db): (authorization: string | undefined) => Promise<Caller | undefined> {
  // Keyed by a hash, so that a dump of memory shows fewer secrets. Insertion order is age: the oldest leave first.
  const trusted = new Map<string, Trusted>()

  const verify = async (key: string, pair: Pair): Promise<Caller | undefined> => {
    const asked_at = performance.now()
    const row = await findValid(db, pair).catch((error: unknown) => {
      trusted.delete(key)
      throw error
    })
    const expires_ms = row?.expires_at?.getTime() ?? Infinity
    const known = trusted.get(key)
    // Only callers are remembered: a token made a moment after a failed try must work at once.
    if (row === undefined) trusted.delete(key)
    else if (known !== undefined) known.until = asked_at + Math.min(trust_ms, expires_ms - Date.now())
    if (row !== undefined) noteUse(db, row)
    return row && callerOf(row)
  }

  return async (authorization) => {
    if (authorization === undefined) return undefined
    const key = hash('sha256', authorization, 'base64')
    const known = trusted.get(key)
    if (known !== undefined && known.until > performance.now()) return known.caller
    trusted.delete(key)

    const pair = parseCredential(authorization)
    if (pair === undefined) return undefined
    // Requests that come while the store is being asked share the one question.
    const caller = verify(key, pair)
    trusted.set(key, { caller, until: performance.now() + trust_ms })
    for (const oldest of trusted.keys()) {
      if (trusted.size <= trusted_max) break
      trusted.delete(oldest)
    }
    return caller
  }
}

type Pair = { public_key: string; secret_key: string }

/** `Bearer public.secret`, `Bearer public:secret`, or HTTP Basic with the pair. */
export function parseCredential(authorization: string): Pair | undefined {
  const [, scheme = '', credential = ''] = /^(bearer|basic) +(\S{1,512})$/i.exec(authorization) ?? []
  const text = scheme.toLowerCase() === 'basic' ? Buffer.from(credential, 'base64').toString('latin1') : credential
  const [, public_key, secret_key] = pair_form.exec(text) ?? []
  return public_key === undefined || secret_key === undefined ? undefined : { public_key, secret_key }
}

async function findValid(db: Db, pair: Pair): Promise<CallerRow | undefined> {
  const row = await findCaller(db, pair.public_key)
  if (row === undefined) return undefined
  if (!timingSafeEqual(row.secret_hash, hashOf(pair.secret_key))) return undefined
  return row.expires_at !== null && row.expires_at.getTime() <= Date.now() ? undefined : row
}

/** Nobody waits for this: a lost note costs a minute of precision. */
function noteUse(db: Db, row: CallerRow): void {
  const age_ms = row.last_used_at === null ? Infinity : Date.now() - row.last_used_at.getTime()
  if (age_ms > use_pace_seconds * 1000) saveTokenUse(db, row.public_key, use_pace_seconds).catch(() => undefined)
}

function callerOf(row: CallerRow): Caller {
  return {
    type: 'apiKey',
    public_key: row.public_key,
    name: row.token_name,
    created: row.created,
    user: { id: String(row.user_id), email: row.email, name: row.user_name },
    project: { id: row.project_id, name: row.project_name },
    role: row.role,
  }
}

function hashOf(secret_key: string): Buffer {
  return hash('sha256', secret_key, 'buffer')
}
