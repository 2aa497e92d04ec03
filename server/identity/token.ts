// Personal access tokens: made once, verified at every request. Promises:
// 1. The secret exists in clear only in createToken's answer; the store has its SHA-256 (it is random, so that is enough).
// 2. What is wrong with a credential is never said, neither in words nor in time: an unknown key and a wrong secret take
//    the same steps, one query by the key and one comparison in constant time.
import { hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { lowerRole, type Role } from '#contract/endpoint.ts'
import type { Db, Sql } from '../store/db.ts'
import type { TokenCaller } from '../http/handler.ts'
import type { Verifier } from './callers.ts'
import { type CallerRow, findCaller, findTokenSecret, insertToken, saveTokenUse } from './store.ts'

const use_pace_seconds = 60
const secret_bytes = 30
const no_secret_hash = Buffer.alloc(32)

/** 32 letters that people do not confuse, so that five random bits choose one without bias. */
const public_key_letters = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'
const public_key_characters = 16

const pair_form = /^([A-Z0-9]{10,32})[.:]([A-Za-z0-9_-]{32,128})$/

export async function createToken(
  tx: Sql,
  token: { name: string; project_id: string; user_id: number; role?: Role | null; expires_at?: Date | null },
): Promise<{ public_key: string; secret_key: string }> {
  const public_key = [...randomBytes(public_key_characters)]
    .map((byte) => public_key_letters.charAt(byte % 32))
    .join('')
  const secret_key = randomBytes(secret_bytes).toString('base64url')
  await insertToken(tx, {
    ...token,
    public_key,
    secret_hash: hashOf(secret_key),
    role: token.role ?? null,
    expires_at: token.expires_at ?? null,
  })
  return { public_key, secret_key }
}

export function newTokenVerifier(db: Db): Verifier {
  return async (authorization) => {
    const pair = parseCredential(authorization)
    if (pair === undefined || !(await secretFits(db, pair))) return undefined
    const row = await findCaller(db, pair.public_key)
    if (row === undefined || (row.expires_at !== null && row.expires_at.getTime() <= Date.now())) return undefined
    noteUse(db, row)
    return { value: callerOf(row), until: row.expires_at }
  }
}

type Pair = { public_key: string; secret_key: string }

/** `Bearer public.secret`, `Bearer public:secret`, or HTTP Basic with the pair. */
function parseCredential(authorization: string): Pair | undefined {
  const [, scheme = '', credential = ''] = /^(bearer|basic) +(\S{1,512})$/i.exec(authorization) ?? []
  const text = scheme.toLowerCase() === 'basic' ? Buffer.from(credential, 'base64').toString('latin1') : credential
  const [, public_key, secret_key] = pair_form.exec(text) ?? []
  return public_key === undefined || secret_key === undefined ? undefined : { public_key, secret_key }
}

async function secretFits(db: Db, pair: Pair): Promise<boolean> {
  const secret_hash = await findTokenSecret(db, pair.public_key)
  const fits = timingSafeEqual(secret_hash ?? no_secret_hash, hashOf(pair.secret_key))
  return fits && secret_hash !== undefined
}

/** No request waits for this: a lost note costs a minute of precision. */
function noteUse(db: Db, row: CallerRow): void {
  const age_ms = row.last_used_at === null ? Infinity : Date.now() - row.last_used_at.getTime()
  if (age_ms > use_pace_seconds * 1000) saveTokenUse(db, row.public_key, use_pace_seconds).catch(() => undefined)
}

export function callerOf(row: CallerRow): TokenCaller {
  return {
    type: 'apiKey',
    public_key: row.public_key,
    name: row.token_name,
    created: row.created,
    expires_at: row.expires_at,
    user: { id: String(row.user_id), email: row.email, name: row.user_name },
    project: { id: row.project_id, name: row.project_name },
    role: row.token_role === null ? row.member_role : lowerRole(row.token_role, row.member_role),
    role_limit: row.token_role,
  }
}

function hashOf(secret_key: string): Buffer {
  return hash('sha256', secret_key, 'buffer')
}
