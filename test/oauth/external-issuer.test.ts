// What is believed of an outside issuer's answers, and what is not: a small one that this test bends at will.
import { generateKeyPair, exportJWK, type JWTPayload, SignJWT } from 'jose'
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { IssuerError, newExternalIssuer } from '#server/oauth/external-issuer.ts'
import { roleOf } from '#server/oauth/external-user.ts'

let listener: Server
let issuer: string
let own: CryptoKeyPair
let stranger: CryptoKeyPair
let answers: Record<string, unknown> = {}
const journey = { redirect_uri: 'http://127.0.0.1/back', nonce: 'a nonce', code_verifier: 'v'.repeat(43) }
const answer = () => new URLSearchParams({ code: 'a code', iss: issuer })

beforeAll(async () => {
  own = await generateKeyPair('ES256')
  stranger = await generateKeyPair('ES256')
  listener = createServer((request, response) => {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify(answers[request.url ?? ''] ?? {}))
  }).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  issuer = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`
})

afterAll(() => {
  listener?.close()
  listener?.closeAllConnections()
})

type Bend = { payload?: JWTPayload; key?: CryptoKey; header?: object; metadata?: object; info?: object; token?: string }

async function claimsWith({ payload, key, header, metadata, info, token }: Bend) {
  const now = Math.floor(Date.now() / 1000)
  const claims: JWTPayload = {
    iss: issuer,
    aud: 'howdah',
    sub: 'ada',
    nonce: journey.nonce,
    iat: now,
    exp: now + 300,
    email: 'ada@example.com',
    email_verified: true,
    ...payload,
  }
  const given = Object.fromEntries(Object.entries(claims).filter(([, value]) => value !== undefined))
  const signed = new SignJWT(given).setProtectedHeader({ alg: 'ES256', kid: 'one', ...header })
  answers = {
    '/.well-known/openid-configuration': {
      issuer,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/me`,
      jwks_uri: `${issuer}/jwks`,
      ...metadata,
    },
    '/jwks': { keys: [{ ...(await exportJWK(own.publicKey)), kid: 'one', alg: 'ES256' }] },
    '/token': { id_token: token ?? (await signed.sign(key ?? own.privateKey)), access_token: 'one' },
    '/me': info,
  }
  const external = newExternalIssuer({ issuer, client_id: 'howdah', client_secret: undefined })
  return external.claimsOf(journey, answer())
}

test('an ID token for us, with our nonce, is believed', async () => {
  expect(await claimsWith({ payload: { groups: ['a', 7, 'b'], name: 'Ada' } })).toEqual({
    subject: 'ada',
    email: 'ada@example.com',
    email_verified: true,
    name: 'Ada',
    groups: ['a', 'b'],
  })
})

test('a verified e-mail is exactly that', async () => {
  for (const email_verified of ['true', 1, undefined]) {
    expect((await claimsWith({ payload: { email_verified } })).email_verified).toBe(false)
  }
})

test('the user-info endpoint may add what the ID token leaves out, about the same person', async () => {
  const info = { sub: 'ada', email: 'ada@else.example', email_verified: true }
  expect((await claimsWith({ payload: { email: undefined, email_verified: undefined }, info })).email).toBe(info.email)
  await expect(claimsWith({ payload: { email: undefined }, info: { ...info, sub: 'eve' } })).rejects.toThrow(
    IssuerError,
  )
})

const unsigned = `${Buffer.from('{"alg":"none"}').toString('base64url')}.${Buffer.from('{}').toString('base64url')}.`
const now = Math.floor(Date.now() / 1000)
const wrong: [what: string, bend: () => Bend][] = [
  ['another nonce', () => ({ payload: { nonce: 'another' } })],
  ['no nonce', () => ({ payload: { nonce: undefined } })],
  ['another audience', () => ({ payload: { aud: 'somebody' } })],
  ['another authorized party', () => ({ payload: { aud: ['howdah', 'somebody'], azp: 'somebody' } })],
  ['another issuer', () => ({ payload: { iss: 'https://evil.example' } })],
  ['an expired one', () => ({ payload: { exp: now - 3600 } })],
  ['no subject', () => ({ payload: { sub: undefined as unknown as string } })],
  ['a subject that is no text', () => ({ payload: { sub: 'a\0b' } })],
  ['another key', () => ({ key: stranger.privateKey })],
  ['an unknown key', () => ({ header: { kid: 'two' } })],
  ['no signature', () => ({ token: unsigned })],
  ['no token at all', () => ({ token: '' })],
  ['another name for itself', () => ({ metadata: { issuer: 'https://evil.example' } })],
]
test.each(wrong)('refused: %s', async (_what, bend) => {
  await expect(claimsWith(bend())).rejects.toThrow(IssuerError)
})

test('refused: answers without a code, with an error, or from somebody else', async () => {
  await claimsWith({})
  const external = newExternalIssuer({ issuer, client_id: 'howdah', client_secret: undefined })
  const queries = ['', 'error=access_denied', 'code=x&iss=https://evil.example']
  for (const query of queries) {
    await expect(external.claimsOf(journey, new URLSearchParams(query))).rejects.toThrow(IssuerError)
  }
})

test('an issuer that cannot be reached is said so', async () => {
  const gone = newExternalIssuer({ issuer: 'http://127.0.0.1:9', client_id: 'howdah', client_secret: undefined })
  await expect(gone.authorizationUrl({ ...journey, state: 'state' })).rejects.toThrow(/could not be asked/)
})

test('of several groups the highest role counts, project by project', () => {
  const table = [
    { group: 'a', project_id: 'one', role: 'viewer' },
    { group: 'b', project_id: 'one', role: 'admin' },
    { group: 'c', project_id: 'one', role: 'developer' },
    { group: 'c', project_id: 'two', role: 'owner' },
  ] as const
  expect(roleOf(['a', 'b', 'c'], table, 'one')).toBe('admin')
  expect(roleOf(['c', 'a'], table, 'one')).toBe('developer')
  expect(roleOf(['a'], table, 'two')).toBeUndefined()
  expect(roleOf([], table, 'one')).toBeUndefined()
})
