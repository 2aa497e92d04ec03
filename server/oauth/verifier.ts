// Access tokens as credentials of the API. Promises:
// 1. Only what our own keys signed, for this API, from this issuer, and not expired by more than 60 s of clock skew.
// 2. Only while the login stands that it came from, and its user exists: a logout ends it, not just its expiry.
// 3. Anything else is no credential. Verifying reads the store and uses no network.
import type { JWTPayload } from 'jose'
import type { Db } from '../store/db.ts'
import type { UserCaller } from '../http/handler.ts'
import type { Verifier } from '../identity/callers.ts'
import type { Found } from '../identity/trust.ts'
import { api_scope } from './clients.ts'
import { type Keys, signing_alg } from './keys.ts'
import { audienceOf, issuerOf } from './provider.ts'
import { findUserOfGrant } from './records.ts'

const clock_skew_seconds = 60
const token_form = /^Bearer +([\w-]{1,2000}\.[\w-]{1,4000}\.[\w-]{1,1000})$/i
const id_form = /^\d{1,15}$/

type Parts = { db: Db; keys: Keys; origin: () => string }

/** A login that stands, and what its token is for. */
export type AccessTokenReader = (
  authorization: string,
) => Promise<(Found<UserCaller> & { scopes: readonly string[] }) | undefined>

export function newJwtVerifier(parts: Parts): Verifier {
  const read = newAccessTokenReader(parts, audienceOf)
  return async (authorization) => {
    const found = await read(authorization)
    return found?.scopes.includes(api_scope) ? found : undefined
  }
}

export function newAccessTokenReader(
  { db, keys, origin }: Parts,
  audienceFor: (origin: string) => string,
): AccessTokenReader {
  return async (authorization) => {
    const token = token_form.exec(authorization)?.[1]
    const payload = token && (await verify(token, keys, origin(), audienceFor(origin())))
    if (!payload) return undefined
    const { sub = '', exp = 0, grant, scope } = payload
    if (!id_form.test(sub) || typeof grant !== 'string') return undefined
    if (typeof scope !== 'string') return undefined
    const user = await findUserOfGrant(db, grant, Number(sub))
    if (user === undefined) return undefined
    const { id, email, name } = user
    const value: UserCaller = { type: 'oauth', user: { id: String(id), email, name }, grant_id: grant }
    return { value, until: new Date((exp + clock_skew_seconds) * 1000), scopes: scope.split(' ') }
  }
}

async function verify(token: string, keys: Keys, origin: string, audience: string): Promise<JWTPayload | undefined> {
  // Loaded when the first token comes.
  const [{ jwtVerify }, { JOSEError, JWKSNoMatchingKey }] = await Promise.all([
    import('jose/jwt/verify'),
    import('jose/errors'),
  ])
  const keyOf = async ({ kid }: { kid?: string }) => {
    const key = typeof kid === 'string' ? await keys.find(kid) : undefined
    if (key === undefined) throw new JWKSNoMatchingKey()
    return key
  }
  try {
    const { payload } = await jwtVerify(token, keyOf, {
      algorithms: [signing_alg],
      typ: 'at+jwt',
      issuer: issuerOf(origin),
      audience,
      clockTolerance: clock_skew_seconds,
      requiredClaims: ['sub', 'iat', 'exp', 'grant', 'scope'],
    })
    return payload
  } catch (error) {
    // Any bytes may come, and are refused here; an unreachable store is thrown.
    if (error instanceof JOSEError || error instanceof TypeError || error instanceof SyntaxError) return undefined
    throw error
  }
}
