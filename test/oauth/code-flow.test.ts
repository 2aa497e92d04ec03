// Logging in with a browser: the authorization code with PKCE, from a program's first redirect to a call of the API,
// refreshing, and every way to end a login.
import { startInstallation } from '#test/installation.ts'
import { shared } from '#test/shared.ts'
import { beforeAll, describe, expect, test } from 'vitest'
import { newCall } from '#test/call.ts'
import { formIn, newBrowser } from './browser.ts'
import {
  askAs,
  cli_redirect,
  codeFrom,
  logIn,
  openPeople,
  type Person,
  postToken,
  refresh,
  statusFor,
  tokensFor,
} from './people.ts'

const installation = shared(startInstallation)
const people = shared(() => openPeople(installation))
let person: Person
let origin: string

beforeAll(async () => {
  origin = installation.server.public_url
  person = await people.newPerson()
})

const info = (access_token: string) => statusFor(installation, access_token)

test('a user who logs in is an OAuth caller who sees all their projects', async () => {
  const { access_token, expires_in } = await logIn(origin, person)
  expect(expires_in).toBe(900)
  const call = newCall(installation.server.api_url, access_token)
  const answer = await call<object>('GET', '/auth/info')
  expect(answer.status).toBe(200)
  expect(answer.body).toEqual({
    type: 'oauth',
    oauth: { user: { id: person.user_id, email: person.email, name: 'A Person' } },
  })
  const projects = await call<{ id: string }[]>('GET', '/projects')
  expect(projects.body.map(({ id }) => id)).toEqual([installation.project_id])
  expect((await call('GET', installation.services)).status).toBe(200)
})

test('the description names this server, whatever the request says about it', async () => {
  const answers = await Promise.all(
    [{}, { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https', forwarded: 'host=evil.example' }].map(
      async (headers) =>
        (await fetch(`${origin}/oauth/.well-known/openid-configuration`, { headers })).json() as Promise<object>,
    ),
  )
  expect(answers[1]).toEqual(answers[0])
  expect(answers[0]).toMatchObject({
    issuer: `${origin}/oauth`,
    authorization_endpoint: `${origin}/oauth/auth`,
    token_endpoint: `${origin}/oauth/token`,
    device_authorization_endpoint: `${origin}/oauth/device/auth`,
    jwks_uri: `${origin}/oauth/jwks`,
    code_challenge_methods_supported: ['S256'],
    response_types_supported: ['code'],
  })
})

describe('PKCE', () => {
  test.each([
    ['without a challenge', { code_challenge: '', code_challenge_method: '' }],
    ['with a plain challenge', { code_challenge_method: 'plain' }],
  ])('a login %s is refused', async (_what, more) => {
    for (const client_id of ['howdah-cli', 'howdah-console'] as const) {
      const asked = askAs(client_id, origin, more)
      const page = await newBrowser().get(asked.url)
      expect(page.status).toBe(303)
      expect(new URL(page.location ?? '').searchParams.get('error')).toBe('invalid_request')
    }
  })

  test('a code is worth nothing without its verifier, and nothing a second time', async () => {
    const browser = newBrowser()
    const asked = askAs('howdah-console', origin)
    const form = await browser.follow(await browser.get(asked.url))
    const code = codeFrom(await browser.submit(form, { email: person.email, password: person.password }), asked)
    const wrong = await tokensFor(origin, 'howdah-console', { ...asked, code_verifier: 'x'.repeat(43) }, code)
    expect(wrong.error).toBe('invalid_grant')
    // The browser's session is still there: no form this time.
    const again = askAs('howdah-console', origin)
    const second = codeFrom(await browser.follow(await browser.get(again.url)), again)
    const tokens = await tokensFor(origin, 'howdah-console', again, second)
    expect(await info(tokens.access_token)).toBe(200)
    expect((await tokensFor(origin, 'howdah-console', again, second)).error).toBe('invalid_grant')
    // A code that comes twice was stolen: all that came from it ends.
    expect((await refresh(origin, tokens.refresh_token)).body.error).toBe('invalid_grant')
  })
})

describe('redirects', () => {
  test.each([
    ['https://evil.example/callback', 'howdah-cli'],
    ['http://127.0.0.1:5000/elsewhere', 'howdah-cli'],
    ['http://127.0.0.1.evil.example:5000/callback', 'howdah-cli'],
    ['http://127.0.0.1:5000@evil.example/callback', 'howdah-cli'],
    ['http://localhost:5000/callback', 'howdah-cli'],
    ['http://127.0.0.1:5000/callback', 'howdah-console'],
    ['javascript:alert(1)', 'howdah-console'],
  ] as const)('no browser is sent to %s for %s', async (redirect_uri, client_id) => {
    const page = await newBrowser().get(askAs(client_id, origin, { redirect_uri }).url)
    expect(page.status).toBe(400)
    expect(page.location).toBeUndefined()
    expect(page.text).toContain('role="alert"')
    expect(page.text).not.toContain('<script')
  })

  test('the command line is sent back to whatever port of this machine it listens on', async () => {
    const tokens = await logIn(origin, person, { client_id: 'howdah-cli' })
    expect(await info(tokens.access_token)).toBe(200)
  })

  test('an answer never comes as a page that needs a script', async () => {
    const asked = askAs('howdah-console', origin, { response_mode: 'form_post' })
    const page = await newBrowser().get(asked.url)
    expect(page.status).toBe(400)
    expect(page.text).not.toContain('<script')
  })

  test('no form decides where its sender is sent to', async () => {
    const browser = newBrowser()
    const asked = askAs('howdah-console', origin)
    const form = await browser.follow(await browser.get(asked.url))
    const { action, fields } = formIn(form)
    const extra = { returnTo: 'https://evil.example', redirect_uri: 'https://evil.example', next: '//evil.example' }
    const page = await browser.post(action, { ...fields, ...extra, email: person.email, password: person.password })
    expect(page.location?.startsWith(`${origin}/oauth/auth/`)).toBe(true)
    const back = await browser.follow(page)
    expect(back.location?.startsWith(asked.redirect_uri)).toBe(true)
  })
})

test('the command line asks first when its user was logged in already, and takes no for an answer', async () => {
  const browser = newBrowser()
  await logIn(origin, person, { browser })
  const asked = askAs('howdah-cli', origin)
  const page = await browser.follow(await browser.get(asked.url))
  expect(page.text).toContain('Allow this login?')
  expect(page.text).toContain(person.email)
  const back = await browser.submit(page, { decision: 'deny' })
  expect(new URL(back.location ?? '').searchParams.get('error')).toBe('access_denied')
  const again = askAs('howdah-cli', origin)
  const allowed = await browser.submit(await browser.follow(await browser.get(again.url)), { decision: 'allow' })
  expect((await tokensFor(origin, 'howdah-cli', again, codeFrom(allowed, again))).access_token).toBeTruthy()
  expect(cli_redirect).toContain('127.0.0.1')
})

test('another user can log in with the same browser, and is not the first one then', async () => {
  const browser = newBrowser()
  await logIn(origin, person, { browser })
  const other = await people.newPerson('viewer')
  const asked = askAs('howdah-console', origin, { prompt: 'login' })
  const form = await browser.follow(await browser.get(asked.url))
  const back = await browser.submit(form, { email: other.email, password: other.password })
  const { access_token } = await tokensFor(origin, 'howdah-console', asked, codeFrom(back, asked))
  const answer = await newCall(installation.server.api_url, access_token)<{ oauth: { user: { id: string } } }>(
    'GET',
    '/auth/info',
  )
  expect(answer.body.oauth.user.id).toBe(other.user_id)
})

test('a login changes the session’s id: an id that was planted before is worth nothing', async () => {
  const browser = newBrowser()
  const asked = askAs('howdah-console', origin)
  // The device page makes a session for a browser that is not logged in.
  await browser.get(`${origin}/oauth/device`)
  const before = browser.cookies.get('howdah_session /oauth')?.value
  expect(before).toBeTruthy()
  const form = await browser.follow(await browser.get(asked.url))
  await browser.submit(form, { email: person.email, password: person.password })
  const after = browser.cookies.get('howdah_session /oauth')
  expect(after?.value).not.toBe(before)
  expect(after?.attributes.toLowerCase()).toMatch(/httponly/)
  expect(after?.attributes.toLowerCase()).toMatch(/samesite=lax/)
  const thief = newBrowser()
  thief.cookies.set('howdah_session /oauth', {
    name: 'howdah_session',
    value: before ?? '',
    path: '/oauth',
    attributes: '',
  })
  expect((await thief.follow(await thief.get(askAs('howdah-console', origin).url))).text).toContain('Log in')
})

describe('refreshing', () => {
  test('a refresh token works once; used again it ends the whole login', async () => {
    const first = await logIn(origin, person)
    const second = (await refresh(origin, first.refresh_token)).body
    expect(second.refresh_token).not.toBe(first.refresh_token)
    expect(await info(second.access_token)).toBe(200)
    const reused = await refresh(origin, first.refresh_token)
    expect(reused.status).toBe(400)
    expect(reused.body.error).toBe('invalid_grant')
    expect((await refresh(origin, second.refresh_token)).body.error).toBe('invalid_grant')
    await expect.poll(() => info(second.access_token), { timeout: 30_000 }).toBe(401)
  })

  test('of many that use a refresh token at once, at most one succeeds', async () => {
    const { refresh_token } = await logIn(origin, person)
    const answers = await Promise.all(Array.from({ length: 6 }, () => refresh(origin, refresh_token)))
    expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1)
    expect(answers.every(({ status }) => status === 200 || status === 400)).toBe(true)
    const winner = answers.find(({ status }) => status === 200)
    if (winner) expect((await refresh(origin, winner.body.refresh_token)).body.error).toBe('invalid_grant')
  })

  test('another program’s refresh token is refused', async () => {
    const { refresh_token } = await logIn(origin, person)
    expect((await refresh(origin, refresh_token, 'howdah-cli')).body.error).toBe('invalid_grant')
  })

  test('neither refresh tokens nor the cookies of sessions and logins under way can be read in the store', async () => {
    const browser = newBrowser()
    const { refresh_token } = await logIn(origin, person, { browser })
    // A user who is logged in is asked once more, for another program.
    await browser.follow(await browser.get(askAs('howdah-cli', origin, { prompt: 'login' }).url))
    const cookies = [...browser.cookies.values()]
    const names = cookies.map(({ name }) => name)
    expect(names).toEqual(expect.arrayContaining(['howdah_session', 'howdah_login', 'howdah_resume']))
    const secrets = [refresh_token, ...cookies.filter(({ name }) => name !== 'howdah_csrf').map(({ value }) => value)]
    const rows = await people.db.query<{ text: string }>('select r::text as text from oauth_records r')
    expect(rows.length).toBeGreaterThan(0)
    expect(secrets.filter((secret) => rows.some(({ text }) => text.includes(secret)))).toEqual([])
    const keys = await people.db.query<{ public_jwk: object; private_key: Buffer }>('select * from oauth_keys')
    expect(keys.every(({ public_jwk, private_key }) => !('d' in public_jwk) && !private_key.includes('"d"'))).toBe(true)
  })
})

describe('ending a login', () => {
  const logout = (token: string, body?: object) =>
    newCall(installation.server.api_url, token)('POST', '/auth/logout', body)

  test('logout ends it at once, with its refresh token', async () => {
    const { access_token, refresh_token } = await logIn(origin, person)
    expect(await info(access_token)).toBe(200)
    expect((await logout(access_token)).status).toBe(204)
    expect(await info(access_token)).toBe(401)
    expect((await refresh(origin, refresh_token)).body.error).toBe('invalid_grant')
  })

  test('logout of the console ends the browser’s session, too', async () => {
    const browser = newBrowser()
    const { access_token } = await logIn(origin, person, { browser })
    expect((await logout(access_token)).status).toBe(204)
    expect((await browser.follow(await browser.get(askAs('howdah-console', origin).url))).text).toContain('Password')
  })

  test('a token can end its user’s login by the refresh token', async () => {
    const one = await logIn(origin, person)
    const other = await logIn(origin, person)
    expect((await logout(one.access_token, { refresh_token: other.refresh_token })).status).toBe(204)
    expect((await refresh(origin, other.refresh_token)).body.error).toBe('invalid_grant')
    expect(await info(other.access_token)).toBe(401)
  })

  test('no user can end the login of another', async () => {
    const other = await logIn(origin, await people.newPerson())
    const { access_token } = await logIn(origin, person)
    expect((await logout(access_token, { refresh_token: other.refresh_token })).status).toBe(204)
    expect((await refresh(origin, other.refresh_token)).status).toBe(200)
    expect((await logout(installation.token, { refresh_token: 7 })).status).toBe(400)
    expect((await logout(installation.token)).status).toBe(204)
    expect(await info(installation.token)).toBe(200)
  })

  test('revoking a refresh token ends it, too', async () => {
    const { access_token, refresh_token } = await logIn(origin, person)
    const fields = { client_id: 'howdah-console', token: refresh_token }
    expect((await postToken(origin, fields, 'token/revocation')).status).toBe(200)
    expect((await refresh(origin, refresh_token)).body.error).toBe('invalid_grant')
    await expect.poll(() => info(access_token), { timeout: 30_000 }).toBe(401)
  })

  test('a removed user is no caller any more', async () => {
    const gone = await people.newPerson()
    const { access_token, refresh_token } = await logIn(origin, gone)
    await people.db.query('delete from users where id = $1', [gone.user_id])
    await expect.poll(() => info(access_token), { timeout: 30_000 }).toBe(401)
    expect((await refresh(origin, refresh_token)).body.error).toBe('invalid_grant')
  })
})
