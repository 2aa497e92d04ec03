// Whatever is sent to the login pages and the authorization server, it is refused or ignored: never a failure of ours.
import fc from 'fast-check'
import { beforeAll, expect, test } from 'vitest'
import { anyText } from '#test/any-text.ts'
import { startInstallation } from '#test/installation.ts'
import { shared } from '#test/shared.ts'
import { formIn, newBrowser } from './browser.ts'
import { askAs, openPeople } from './people.ts'

/** The same cases in every run. */
const seed = 20261115

const installation = shared(startInstallation)
const people = shared(() => openPeople(installation))
let origin: string

beforeAll(() => {
  origin = installation.server.public_url
})

const odd = fc.oneof(
  anyText({ maxLength: 40 }),
  fc.constantFrom(
    '\0',
    'a\0b',
    '\ud800',
    '\u202e',
    "' or 1=1 --",
    '../..',
    '%',
    'x'.repeat(3000),
    '[]',
    '{}',
    '-1',
    '__proto__',
  ),
)

const names = [
  'client_id',
  'redirect_uri',
  'response_type',
  'response_mode',
  'scope',
  'state',
  'nonce',
  'prompt',
  'max_age',
  'login_hint',
  'id_token_hint',
  'resource',
  'claims',
  'ui_locales',
  'acr_values',
  'code_challenge',
  'code_challenge_method',
  'grant_type',
  'code',
  'code_verifier',
  'refresh_token',
  'device_code',
  'user_code',
  'token',
  'xsrf',
  'csrf',
  'request',
  'request_uri',
  'post_logout_redirect_uri',
]

test('the authorization endpoint, with one parameter bent', async () => {
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...names), odd, async (name, value) => {
      const browser = newBrowser()
      const page = await browser.follow(await browser.get(askAs('howdah-console', origin, { [name]: value }).url))
      expect(page.status, `${name}=${JSON.stringify(value)}`).toBeLessThan(500)
    }),
    { numRuns: 100, seed },
  )
})

test('the other endpoints, with any parameters', async () => {
  const paths = ['token', 'token/revocation', 'device/auth', 'device', 'session/end', 'session/end/confirm', 'password']
  const fields = fc.dictionary(fc.constantFrom(...names), odd, { maxKeys: 6 })
  const grants = [undefined, 'authorization_code', 'refresh_token', 'urn:ietf:params:oauth:grant-type:device_code']
  const more = fc.record({ grant_type: fc.constantFrom(...grants), is_known: fc.boolean() })
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...paths), fields, more, async (path, fields, { grant_type, is_known }) => {
      const given = { ...fields, ...(grant_type && { grant_type }), ...(is_known && { client_id: 'howdah-cli' }) }
      const browser = newBrowser()
      const page = await browser.post(`${origin}/oauth/${path}`, given)
      expect(page.status, `POST ${path} ${JSON.stringify(given)}`).toBeLessThan(500)
      const read = await browser.get(`${origin}/oauth/${path}?${new URLSearchParams(given)}`)
      expect(read.status, `GET ${path} ${JSON.stringify(given)}`).toBeLessThan(500)
    }),
    { numRuns: 200, seed },
  )
})

test('the pages’ own forms, with every field bent', async () => {
  const browser = newBrowser()
  const forms = [
    formIn(await browser.follow(await browser.get(askAs('howdah-console', origin).url))),
    formIn(await browser.get(`${origin}/oauth/password`)),
    formIn(await browser.get(`${origin}/oauth/device`)),
  ]
  const fields = fc.record(
    { email: odd, password: odd, new_password: odd, user_code: odd, token: odd, decision: odd },
    { requiredKeys: [] },
  )
  await fc.assert(
    fc.asyncProperty(fc.constantFrom(...forms), fields, async ({ action, fields: own }, fields) => {
      await people.db.query('delete from login_attempts')
      const page = await browser.post(action, { ...own, ...fields })
      expect(page.status, `${action} ${JSON.stringify(fields)}`).toBeLessThan(500)
    }),
    { numRuns: 60, seed },
  )
})

test('cookies, links and paths that the server never gave', async () => {
  const paths = [
    'login/x',
    'login/..%2f..',
    'auth/x',
    'device/x',
    'password/set?token=%00',
    'external/callback?state=x',
    '',
    '%00',
    'jwks?x',
  ]
  const cookies = [
    'howdah_session=x',
    'howdah_session=%00; howdah_login=%00',
    'howdah_csrf=__proto__',
    '=;=;;',
    'howdah_resume=x',
  ]
  for (const path of paths) {
    for (const cookie of cookies) {
      const page = await newBrowser().get(`${origin}/oauth/${path}`, { cookie })
      expect(page.status, `${path} ${cookie}`).toBeLessThan(500)
    }
  }
})
