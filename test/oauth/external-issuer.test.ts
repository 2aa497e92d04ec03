// What is believed of an outside issuer's answers, and what is not: a small issuer that this test bends at will.
import { generateKeyPair, exportJWK, type JWTPayload, SignJWT, UnsecuredJWT } from 'jose'
import { once } from 'node:events'
import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { IssuerError, newExternalIssuer } from '#server/oauth/external-issuer.ts'
import { roleOf } from '#server/oauth/external-user.ts'

let listener: Server
let issuer: string
let own: CryptoKeyPair
let stranger: CryptoKeyPair
let answers: Record<string, unknown> = {}
type Heard = { url: string | undefined; authorization: string | undefined; body: URLSearchParams }
let heard: Heard[] = []
const journey = { redirect_uri: 'http://127.0.0.1/back', nonce: 'a nonce', code_verifier: 'v'.repeat(43) }
const answer = () => new URLSearchParams({ code: 'a code', iss: issuer })

beforeAll(async () => {
  own = await generateKeyPair('ES256')
  stranger = await generateKeyPair('ES256')
  listener = createServer((request, response) => {
    const { url, headers } = request
    void text(request).then((body) => {
      heard.push({ url, authorization: headers.authorization, body: new URLSearchParams(body) })
      const answer = answers[url ?? ''] ?? {}
      response.setHeader('content-type', 'application/json')
      if (typeof answer === 'function') answer(response)
      else response.end(JSON.stringify(answer))
    })
  }).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  issuer = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`
})

afterAll(() => {
  listener?.close()
  listener?.closeAllConnections()
})

type Respond = (response: ServerResponse) => unknown
type Bend = {
  payload?: JWTPayload
  key?: CryptoKey
  header?: object
  metadata?: object
  info?: object
  sign?: (claims: JWTPayload) => Promise<string> | string
  instead?: Record<string, Respond>
  client_secret?: string
}

async function claimsWith({ payload, key, header, metadata, info, sign, instead, client_secret }: Bend) {
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
  heard = []
  answers = {
    '/.well-known/openid-configuration': {
      issuer,
      authorization_endpoint: `${issuer}/auth`,
      token_endpoint: `${issuer}/token`,
      userinfo_endpoint: `${issuer}/me`,
      jwks_uri: `${issuer}/jwks`,
      id_token_signing_alg_values_supported: ['ES256', 'HS256', 'none'],
      ...metadata,
    },
    '/jwks': { keys: [{ ...(await exportJWK(own.publicKey)), kid: 'one', alg: 'ES256' }] },
    '/token': {
      id_token: sign === undefined ? await signed.sign(key ?? own.privateKey) : await sign(given),
      access_token: 'one',
      token_type: 'Bearer',
    },
    '/me': info,
    ...instead,
  }
  const external = newExternalIssuer({ issuer, client_id: 'howdah', client_secret })
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

const now = Math.floor(Date.now() / 1000)
const wrong: [what: string, bend: () => Bend][] = [
  ['another nonce', () => ({ payload: { nonce: 'another' } })],
  ['no nonce', () => ({ payload: { nonce: undefined } })],
  ['another audience', () => ({ payload: { aud: 'somebody' } })],
  ['another authorized party', () => ({ payload: { aud: ['howdah', 'somebody'], azp: 'somebody' } })],
  ['one audience and another authorized party', () => ({ payload: { azp: 'somebody' } })],
  ['another issuer', () => ({ payload: { iss: 'https://evil.example' } })],
  ['an expired one', () => ({ payload: { exp: now - 3600 } })],
  ['no subject', () => ({ payload: { sub: undefined as unknown as string } })],
  ['a subject that is no text', () => ({ payload: { sub: 'a\0b' } })],
  ['another key', () => ({ key: stranger.privateKey })],
  ['an unknown key', () => ({ header: { kid: 'two' } })],
  ['no signature', () => ({ sign: (claims) => new UnsecuredJWT(claims).encode() })],
  [
    'a signature with a text that is public',
    () => ({
      sign: (claims) => new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: 'one' }).sign(Buffer.alloc(32)),
    }),
  ],
  ['no token at all', () => ({ sign: () => '' })],
  ['another name for itself', () => ({ metadata: { issuer: 'https://evil.example' } })],
]
test.each(wrong)('refused: %s', async (_what, bend) => {
  await expect(claimsWith(bend())).rejects.toThrow(IssuerError)
})

test('refused: answers without a code, with an error, or from another issuer', async () => {
  await claimsWith({})
  const external = newExternalIssuer({ issuer, client_id: 'howdah', client_secret: undefined })
  const queries = ['', 'error=access_denied', 'code=x&iss=https://evil.example']
  for (const query of queries) {
    await expect(external.claimsOf(journey, new URLSearchParams(query))).rejects.toThrow(IssuerError)
  }
})

test('the client’s secret goes to the token endpoint only, in the header or where the issuer wants it', async () => {
  const client_secret = 'a-b_c.d~e f:g%'
  const info = { sub: 'ada', email: 'ada@else.example' }
  await claimsWith({ client_secret, payload: { email: undefined }, info })
  const asked = heard.find(({ url }) => url === '/token')
  const [client_id, secret = ''] = atob(asked?.authorization?.split('Basic ')[1] ?? '').split(':')
  // Some issuers do not decode it: only what must be escaped is.
  expect([client_id, secret]).toEqual(['howdah', 'a-b_c.d~e%20f%3Ag%25'])
  expect(asked?.body.get('client_secret')).toBeNull()
  expect(asked?.body.get('code_verifier')).toBe(journey.code_verifier)
  expect(heard.map(({ url, authorization }) => [url, authorization?.split(' ')[0]])).toEqual([
    ['/.well-known/openid-configuration', undefined],
    ['/token', 'Basic'],
    ['/jwks', undefined],
    ['/me', 'Bearer'],
  ])

  await claimsWith({ client_secret, metadata: { token_endpoint_auth_methods_supported: ['client_secret_post'] } })
  const in_body = heard.find(({ url }) => url === '/token')
  expect(in_body?.authorization).toBeUndefined()
  expect(in_body?.body.get('client_secret')).toBe(client_secret)
})

const unusable: [what: string, respond: Respond, message: RegExp][] = [
  ['sends elsewhere', (response) => response.writeHead(302, { location: '/elsewhere' }).end(), /answer: 302/],
  ['refuses', (response) => response.writeHead(400).end('{"error":"invalid_grant"}'), /answer: 400 .*invalid_grant/],
  ['answers without end', (response) => response.end(' '.repeat(1_000_001)), /answer: the answer is too long/],
  ['hangs up', (response) => response.destroy(), /gives no usable answer/],
]
test.each(unusable)('an issuer that %s is said so', async (_what, respond, message) => {
  for (const path of ['/.well-known/openid-configuration', '/token', '/jwks']) {
    await expect(claimsWith({ instead: { [path]: respond } })).rejects.toThrow(message)
    expect(heard.map(({ url }) => url)).not.toContain('/elsewhere')
  }
})

test('an issuer with another name is told to the operator, with what to set', async () => {
  const metadata = { issuer: `${issuer}/` }
  await expect(claimsWith({ metadata })).rejects.toThrow(`it calls itself "${issuer}/"; set --oidc-issuer`)
})

test('an issuer that cannot be reached is said so', async () => {
  const gone = newExternalIssuer({ issuer: 'http://127.0.0.1:9', client_id: 'howdah', client_secret: undefined })
  await expect(gone.authorizationUrl({ ...journey, state: 'state' })).rejects.toThrow(/gives no usable answer/)
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
