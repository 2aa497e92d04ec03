// The login of the console as a browser without scripts sees it: four routes, and what each refuses.
import { beforeAll, expect, test, vi } from 'vitest'
import { startInstallation } from '#test/installation.ts'
import { type Browser, newBrowser } from '#test/oauth/browser.ts'
import { openPeople, type Person } from '#test/oauth/people.ts'
import { shared } from '#test/shared.ts'

const howdah = shared(startInstallation)
const people = shared(() => openPeople(howdah))
let person: Person
let origin = ''
beforeAll(async () => {
  person = await people.newPerson('developer')
  origin = howdah.server.public_url
})

const ours = { 'sec-fetch-site': 'same-origin', 'x-howdah-console': '1' }

/** Through the login page to where the callback leads. */
async function logIn(asked: string): Promise<{ browser: Browser; location: string | undefined; cookie: string }> {
  const browser = newBrowser()
  const page = await browser.follow(await browser.get(`${origin}/console/login?return=${encodeURIComponent(asked)}`))
  const back = await browser.submit(page, { email: person.email, password: person.password })
  expect(back.location).toContain(`${origin}/console/callback?`)
  const done = await browser.get(back.location ?? '')
  expect(done.status).toBe(303)
  const cookie = done.headers.getSetCookie().find((text) => text.startsWith('howdah_console=')) ?? ''
  return { browser, location: done.location, cookie }
}

const session = (cookie: string, method = 'POST', headers: Record<string, string> = ours) =>
  fetch(`${origin}/console/session`, { method, headers: { ...headers, cookie: cookie.split(';')[0] ?? '' } })

test('a login leads back to where it began, with a cookie that scripts and other sites do not get', async () => {
  const { location, cookie } = await logIn('/projects?x=1')
  expect(location).toBe(`${origin}/projects?x=1`)
  expect(cookie).toMatch(/^howdah_console=[\w-]{43}; Path=\/console; Max-Age=7776000; HttpOnly; SameSite=Strict$/)
  const answer = await session(cookie)
  const body = (await answer.json()) as { access_token: string; expires_at: string; user: object }
  expect(Object.keys(body)).toEqual(['access_token', 'expires_at', 'user'])
  expect(body.user).toMatchObject({ id: person.user_id, email: person.email })
  const info = await fetch(`${howdah.server.api_url}/auth/info`, {
    headers: { authorization: `Bearer ${body.access_token}` },
  })
  expect(info.status).toBe(200)
})

test.each(['https://evil.example/', '//evil.example', '/\\evil.example', 'javascript:alert(1)', 'projects'])(
  'a login never leads to %s',
  async (asked) => {
    expect((await logIn(asked)).location).toBe(`${origin}/`)
  },
)

test('the store has neither the cookie nor a token', async () => {
  const { cookie } = await logIn('/')
  const { access_token } = (await (await session(cookie)).json()) as { access_token: string }
  const rows = await people.db.query<{ text: string }>('select console_sessions::text as text from console_sessions')
  const stored = rows
    .map(({ text }) => Buffer.from(text.replaceAll(/[^\da-f]/g, ''), 'hex').toString('latin1') + text)
    .join()
  expect(rows.length).toBeGreaterThan(0)
  expect(stored).not.toContain(cookie.slice('howdah_console='.length, 58))
  expect(stored).not.toContain(access_token.slice(0, 40))
})

test.each([
  ['another site', { ...ours, 'sec-fetch-site': 'cross-site' }],
  ['another origin of this site', { ...ours, 'sec-fetch-site': 'same-site' }],
  ['a form', { 'sec-fetch-site': 'same-origin' }],
  ['a program without an origin', { 'x-howdah-console': '1' }],
  ['an origin that is not ours', { 'x-howdah-console': '1', origin: 'https://evil.example' }],
])('a request of %s gets no token', async (_who, headers: Record<string, string>) => {
  const { cookie } = await logIn('/')
  for (const method of ['POST', 'DELETE']) expect((await session(cookie, method, headers)).status).toBe(403)
  expect((await session(cookie)).status).toBe(200)
})

test('without a cookie, and with one that was made up, there is no login', async () => {
  for (const cookie of ['', 'howdah_console=short', `howdah_console=${'A'.repeat(43)}`]) {
    const answer = await session(cookie)
    expect([answer.status, answer.headers.getSetCookie()[0]]).toEqual([401, expect.stringContaining('Max-Age=0')])
  }
})

test('tabs that renew at once get one and the same new token', async () => {
  const { cookie } = await logIn('/')
  const tokenOf = async () => ((await (await session(cookie)).json()) as { access_token: string }).access_token
  const first = await tokenOf()
  expect(await tokenOf()).toBe(first)
  const now = Date.now.bind(Date)
  const later = vi.spyOn(Date, 'now').mockImplementation(() => now() + 14.5 * 60_000)
  try {
    const tokens = new Set(await Promise.all(Array.from({ length: 8 }, tokenOf)))
    expect(tokens.size).toBe(1)
    expect(tokens.has(first)).toBe(false)
  } finally {
    later.mockRestore()
  }
})

test('a logout ends the login of all tabs, and the next login asks for the password', async () => {
  const { browser, cookie } = await logIn('/')
  const { access_token } = (await (await session(cookie)).json()) as { access_token: string }
  const answer = await session(cookie, 'DELETE')
  expect([answer.status, await answer.json()]).toEqual([200, { location: '/console/' }])
  expect((await session(cookie)).status).toBe(401)
  const info = await fetch(`${howdah.server.api_url}/auth/info`, {
    headers: { authorization: `Bearer ${access_token}` },
  })
  expect(info.status).toBe(401)
  const page = await browser.follow(await browser.get(`${origin}/console/login`))
  expect(page.text).toContain('name="password"')
})

test('a login that ended elsewhere ends here', async () => {
  const { cookie } = await logIn('/')
  const { access_token } = (await (await session(cookie)).json()) as { access_token: string }
  const logout = await fetch(`${howdah.server.api_url}/auth/logout`, {
    method: 'POST',
    headers: { authorization: `Bearer ${access_token}` },
  })
  expect(logout.status).toBe(204)
  expect((await session(cookie)).status).toBe(401)
})

test('a callback that this browser did not begin is refused', async () => {
  const { browser } = await logIn('/')
  for (const query of ['code=x&state=y', `code=x&state=y&iss=${origin}/oauth`, '']) {
    const page = await browser.get(`${origin}/console/callback?${query}`)
    expect([page.status, page.text.includes('began in another browser')]).toEqual([400, true])
  }
})
