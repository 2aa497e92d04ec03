// Access tokens for benches: signed as the authorization server signs them, without a browser that logs in.
import { SignJWT } from 'jose'
import { createPrivateKey } from 'node:crypto'
import type { Db } from '#server/store/db.ts'
import { type KeyPlace, newKeys, signing_alg } from '#server/oauth/keys.ts'
import { audienceOf, issuerOf } from '#server/oauth/provider.ts'
import { saveRecord } from '#server/oauth/records.ts'
import { openSecret } from '#server/secret.ts'

export const bench_origin = 'http://127.0.0.1'

export async function openKeyPlace(db: Db, folder: string): Promise<KeyPlace> {
  return { db, installation_id: 'bench', secret: await openSecret(folder) }
}

/** For an hour. */
export async function newAccessToken(place: KeyPlace, user_id: number): Promise<string> {
  const expires_at = new Date(Date.now() + 3_600_000)
  const grant = { model: 'Grant', id: 'bench', payload: {} }
  await saveRecord(place.db, { ...grant, user_id, expires_at })
  const { kid, private_jwk } = await newKeys(place).signing()
  return new SignJWT({ scope: 'api', client_id: 'howdah-cli', grant: grant.id })
    .setProtectedHeader({ alg: signing_alg, kid, typ: 'at+jwt' })
    .setSubject(String(user_id))
    .setIssuer(issuerOf(bench_origin))
    .setAudience(audienceOf(bench_origin))
    .setIssuedAt()
    .setExpirationTime(expires_at)
    .sign(createPrivateKey({ key: private_jwk, format: 'jwk' }))
}
