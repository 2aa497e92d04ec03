// The authorization server as a stranger meets it: a stolen token ends at once, and no other site is let in.
import { startInstallation } from '#test/installation.ts'
import { shared } from '#test/shared.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { newBrowser } from '#test/oauth/browser.ts'
import {
  askAs,
  codeFrom,
  logIn,
  openPeople,
  type Person,
  postToken,
  refresh,
  statusFor,
  tokensFor,
} from '#test/oauth/people.ts'

const installation = shared(startInstallation)
const people = shared(() => openPeople(installation))
let person: Person
let origin: string

beforeAll(async () => {
  origin = installation.server.public_url
  person = await people.newPerson()
})

const info = (access_token: string) => statusFor(installation, access_token)

describe('an access token that was believed a moment ago is worth nothing right after', () => {
  test('its code was used a second time', async () => {
    const browser = newBrowser()
    const asked = askAs('howdah-console', origin)
    const form = await browser.follow(await browser.get(asked.url))
    const code = codeFrom(await browser.submit(form, { email: person.email, password: person.password }), asked)
    const { access_token } = await tokensFor(origin, 'howdah-console', asked, code)
    expect(await info(access_token)).toBe(200)
    expect((await tokensFor(origin, 'howdah-console', asked, code)).error).toBe('invalid_grant')
    expect(await info(access_token)).toBe(401)
  })

  test('its refresh token was used a second time', async () => {
    const first = await logIn(origin, person)
    const { body: second } = await refresh(origin, first.refresh_token)
    expect(await info(second.access_token)).toBe(200)
    expect((await refresh(origin, first.refresh_token)).body.error).toBe('invalid_grant')
    expect(await info(second.access_token)).toBe(401)
    expect(await info(first.access_token)).toBe(401)
  })

  test('its device code was used a second time', async () => {
    const { body } = await postToken(origin, { client_id: 'howdah-cli', scope: 'api' }, 'device/auth')
    const { device_code, user_code } = body as unknown as { device_code: string; user_code: string } // by RFC 8628
    const browser = newBrowser()
    const typed = await browser.submit(await browser.get(`${origin}/oauth/device`), { user_code })
    await browser.submit(await browser.submit(typed), { email: person.email, password: person.password })
    const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
    const poll = () => postToken(origin, { grant_type, client_id: 'howdah-cli', device_code })
    const { access_token } = (await poll()).body
    expect(await info(access_token)).toBe(200)
    expect((await poll()).body.error).toBe('invalid_grant')
    expect(await info(access_token)).toBe(401)
  })

  test('its refresh token was revoked', async () => {
    const { access_token, refresh_token } = await logIn(origin, person)
    expect(await info(access_token)).toBe(200)
    const fields = { client_id: 'howdah-console', token: refresh_token }
    expect((await postToken(origin, fields, 'token/revocation')).status).toBe(200)
    expect(await info(access_token)).toBe(401)
  })
})

describe('no page of another site may read an answer', () => {
  const fields = { grant_type: 'authorization_code', code: 'x', redirect_uri: 'x', code_verifier: 'x'.repeat(43) }
  const requests: { what: string; method: string; path: string; body?: Record<string, string> }[] = [
    { what: 'a token without a client', method: 'POST', path: '/oauth/token', body: fields },
    {
      what: 'a token for an unknown client',
      method: 'POST',
      path: '/oauth/token',
      body: { ...fields, client_id: 'x' },
    },
    { what: 'a token', method: 'POST', path: '/oauth/token', body: { ...fields, client_id: 'howdah-console' } },
    { what: 'a token, asked beforehand', method: 'OPTIONS', path: '/oauth/token' },
    { what: 'a revocation', method: 'POST', path: '/oauth/token/revocation', body: { token: 'x' } },
    { what: 'a device code', method: 'POST', path: '/oauth/device/auth', body: {} },
    { what: 'the description', method: 'GET', path: '/oauth/.well-known/openid-configuration' },
    { what: 'the keys', method: 'GET', path: '/oauth/jwks' },
    { what: 'the login', method: 'GET', path: '/oauth/auth' },
    { what: 'the API', method: 'GET', path: '/public/api/v1/projects' },
    { what: 'the API, asked beforehand', method: 'OPTIONS', path: '/public/api/v1/projects' },
    { what: 'the OpenAPI document', method: 'GET', path: '/public/api/v1/openapi.json' },
    { what: 'the metrics', method: 'GET', path: '/metrics' },
  ]
  test.each(requests)('$what', async ({ method, path, body }) => {
    for (const site of ['https://evil.example', 'null', origin]) {
      const response = await fetch(origin + path, {
        method,
        headers: { origin: site, 'access-control-request-method': 'POST' },
        ...(body && { body: new URLSearchParams(body) }),
      })
      const text = await response.text()
      const named = [...response.headers].filter(([name]) => name.startsWith('access-control-'))
      expect(named, site).toEqual([])
      expect(text).not.toContain('evil.example')
    }
  })
})
