// The pages on which people log in and set passwords: no client can try for ever, none learns who has an account, and
// no other site can send a form in a user's name.
import { startInstallation } from '#test/installation.ts'
import { shared } from '#test/shared.ts'
import { hash } from 'node:crypto'
import { beforeAll, describe, expect, test } from 'vitest'
import { newCall } from '#test/call.ts'
import { until } from '#test/until.ts'
import { type Browser, formIn, newBrowser, type Page } from './browser.ts'
import { askAs, logIn, openPeople, type Person, refresh, tokensFor } from './people.ts'

const installation = shared(startInstallation)
const people = shared(() => openPeople(installation))
let origin: string

beforeAll(() => {
  origin = installation.server.public_url
})

/** Every test starts with full buckets: they share one address. */
const forgiveAll = () => people.db.query('delete from login_attempts')

async function openLoginForm(browser: Browser): Promise<Page> {
  return browser.follow(await browser.get(askAs('howdah-console', origin).url))
}

async function tryPassword(browser: Browser, email: string, password: string): Promise<Page> {
  const { action, fields } = formIn(await openLoginForm(browser))
  return browser.post(action, { ...fields, email, password })
}

describe('every page', () => {
  test('loads nothing, runs nothing and cannot be framed', async () => {
    const browser = newBrowser()
    const person = await people.newPerson()
    const pages = [
      await openLoginForm(browser),
      await browser.get(`${origin}/oauth/device`),
      await browser.get(`${origin}/oauth/password`),
      await browser.get(await people.newLink(person.user_id)),
      await browser.get(`${origin}/oauth/auth?client_id=nobody`),
      await browser.get(`${origin}/oauth/login/${'x'.repeat(43)}`),
      await browser.get(`${origin}/oauth/session/end`),
      await browser.get(`${origin}/oauth/session/end/success`),
    ]
    for (const page of pages) {
      expect(page.headers.get('content-security-policy'), page.url).toMatch(
        /default-src 'none'; script-src 'sha256-[^ ;]+'; style-src 'sha256-.*frame-ancestors 'none'/,
      )
      const style = /<style>(.*?)<\/style>/s.exec(page.text)?.[1] ?? ''
      expect(page.headers.get('content-security-policy')).toContain(`'sha256-${hash('sha256', style, 'base64')}'`)
      expect(page.headers.get('x-frame-options')).toBe('DENY')
      expect(page.headers.get('x-request-id')).toBeTruthy()
      expect(page.headers.get('cache-control')).toContain('no-store')
      expect(page.text).toContain('<html lang="en">')
      const script = /<script>(.*?)<\/script>/s.exec(page.text)?.[1] ?? ''
      expect(script !== '').toBe(page.text.includes('type="password"'))
      const allowed = script === '' ? '' : `'sha256-${hash('sha256', script, 'base64')}'`
      expect(page.headers.get('content-security-policy')).toContain(allowed)
      expect(page.text.replace(`<script>${script}</script>`, '')).not.toMatch(
        /<script|https?:\/\/(?!127\.0\.0\.1)|@import|javascript:|\son\w+=/,
      )
    }
  })

  test('shows typed text as text only', async () => {
    const page = await tryPassword(newBrowser(), '"><script>alert(1)</script>@x', 'wrong password')
    expect(page.text).not.toContain('<script>alert')
    expect(page.text).toContain('&lt;script&gt;')
    const device = await newBrowser().get(`${origin}/oauth/device?user_code=${encodeURIComponent('"><b>')}`)
    expect(device.text).not.toContain('<b>')
    const error = await newBrowser().get(`${origin}/oauth/auth?client_id=${encodeURIComponent('<b>"x')}`)
    expect(error.text).not.toContain('<b>')
  })
})

describe('wrong passwords', () => {
  test('an unknown e-mail, a wrong password and a user without a password get the same answer', async () => {
    await forgiveAll()
    const person = await people.newPerson()
    const invited = await people.newPerson()
    await people.db.query('delete from passwords where user_id = $1', [invited.user_id])
    const answers: string[] = []
    for (const email of [person.email, 'nobody@example.com', invited.email]) {
      const page = await tryPassword(newBrowser(), email, 'not the password')
      expect(page.status).toBe(403)
      const varying = page.text.replaceAll(email, 'EMAIL').replaceAll(/value="[\w-]{43}"|login\/[\w-]+/g, '')
      answers.push(varying + JSON.stringify([...page.headers.keys()].sort()))
    }
    expect(new Set(answers).size).toBe(1)
    expect(answers[0]).toContain('The e-mail or the password is wrong.')
  })

  test('too many attempts are refused, whether the account exists or not', async () => {
    const person = await people.newPerson()
    for (const email of [person.email, 'nobody@example.com']) {
      await forgiveAll()
      const statuses: number[] = []
      // A slow machine gives back some while it tries.
      await until(async () => {
        statuses.push((await tryPassword(newBrowser(), email, 'not the password')).status)
        return statuses.at(-1) !== 403
      })
      expect(statuses.length).toBeGreaterThan(5)
      expect(statuses.at(-1)).toBe(429)
      const right = await tryPassword(newBrowser(), email, person.password)
      expect(right.status).toBe(429)
      expect(Number(right.headers.get('retry-after'))).toBeGreaterThan(0)
    }
  })

  test('many attempts at once get no further', async () => {
    await forgiveAll()
    const person = await people.newPerson()
    const browser = newBrowser()
    const { action, fields } = formIn(await openLoginForm(browser))
    const wrong = { ...fields, email: person.email, password: 'not the password' }
    const pages = await Promise.all(Array.from({ length: 20 }, () => browser.post(action, wrong)))
    const [wrong_ones, refused] = [403, 429].map((code) => pages.filter(({ status }) => status === code).length)
    expect((wrong_ones ?? 0) + (refused ?? 0)).toBe(20)
    expect(wrong_ones).toBeLessThan(10)
  })

  test('a login that succeeds forgives the mistakes before it', async () => {
    await forgiveAll()
    const person = await people.newPerson()
    for (let round = 0; round < 3; round += 1) {
      for (let attempt = 0; attempt < 3; attempt += 1) await tryPassword(newBrowser(), person.email, 'not the password')
      expect((await logIn(origin, person)).access_token).toBeTruthy()
    }
  })
})

describe('forms that do not come from our pages', () => {
  type Case = {
    what: string
    open: (browser: Browser, person: Person) => Promise<Page>
    fill: (person: Person) => object
  }
  const cases: Case[] = [
    {
      what: 'login',
      open: openLoginForm,
      fill: ({ email, password }) => ({ email, password }),
    },
    {
      what: 'consent',
      open: async (browser, person) => {
        await logIn(origin, person, { browser })
        return browser.follow(await browser.get(askAs('howdah-cli', origin).url))
      },
      fill: () => ({ decision: 'allow' }),
    },
    {
      what: 'password change',
      open: (browser) => browser.get(`${origin}/oauth/password`),
      fill: ({ email, password }) => ({ email, password, new_password: 'another long one' }),
    },
    {
      what: 'password link',
      open: async (browser, person) => browser.get(await people.newLink(person.user_id)),
      fill: () => ({ new_password: 'another long one' }),
    },
    {
      what: 'device',
      open: (browser) => browser.get(`${origin}/oauth/device`),
      fill: () => ({ user_code: 'BCDF-GHJK' }),
    },
    {
      what: 'logout',
      open: async (browser, person) => {
        await logIn(origin, person, { browser })
        return browser.get(`${origin}/oauth/session/end`)
      },
      fill: () => ({ logout: 'yes' }),
    },
  ]
  test.each(cases)('are refused: $what', async ({ open, fill }) => {
    await forgiveAll()
    const person = await people.newPerson()
    const browser = newBrowser()
    const { action, fields } = formIn(await open(browser, person))
    const filled = { ...fields, ...fill(person) }
    const secret = 'csrf' in fields ? 'csrf' : 'xsrf'
    const without = Object.fromEntries(Object.entries(filled).filter(([name]) => name !== secret))
    for (const forged of [without, { ...filled, [secret]: 'x'.repeat(43) }, { ...filled, [secret]: '' }]) {
      const page = await browser.post(action, forged)
      expect([400, 403]).toContain(page.status)
      expect(page.location).toBeUndefined()
    }
    // Another site's form comes without our cookies (SameSite), and says that it is from there.
    expect([400, 403, 404]).toContain((await newBrowser().post(action, filled)).status)
    if (secret === 'csrf') {
      expect((await browser.post(action, filled, { 'sec-fetch-site': 'cross-site' })).status).toBe(403)
    }
    // Nothing of that changed the password.
    expect((await logIn(origin, person)).access_token).toBeTruthy()
  })

  test('a form of one login is worth nothing for another one', async () => {
    const browser = newBrowser()
    const one = formIn(await openLoginForm(browser))
    const other = formIn(await openLoginForm(browser))
    const person = await people.newPerson()
    const mixed = { ...other.fields, email: person.email, password: person.password }
    expect((await browser.post(one.action, mixed)).status).toBe(403)
  })

  test('bodies that are no forms are refused, and large ones', async () => {
    const browser = newBrowser()
    const page = await openLoginForm(browser)
    const { action, fields } = formIn(page)
    const json = await fetch(action, { method: 'POST', body: '{}', headers: { 'content-type': 'application/json' } })
    expect(json.status).toBe(415)
    const large = await browser.post(action, { ...fields, email: 'x'.repeat(100_000) })
    expect(large.status).toBe(413)
  })
})

describe('setting a password', () => {
  test('a link works once, and not after its day', async () => {
    const person = await people.newPerson()
    const link = await people.newLink(person.user_id)
    const browser = newBrowser()
    const form = await browser.get(link)
    expect(form.text).toContain(person.email)
    expect((await browser.submit(form, { new_password: 'short' })).status).toBe(400)
    const done = await browser.submit(form, { new_password: 'a new long one' })
    expect([done.status, done.text]).toEqual([200, expect.stringContaining('<a href="/">the console</a>')])
    expect((await browser.submit(form, { new_password: 'another long one' })).status).toBe(404)
    expect((await browser.get(link)).status).toBe(404)
    expect((await logIn(origin, { ...person, password: 'a new long one' })).access_token).toBeTruthy()
    const late = await people.newLink(person.user_id)
    await people.db.query(`update password_links set expires_at = now() - interval '1 second'`)
    expect((await browser.get(late)).status).toBe(404)
    expect((await browser.get(`${origin}/oauth/password/set?token=${'x'.repeat(43)}`)).status).toBe(404)
    expect((await browser.get(`${origin}/oauth/password/set`)).status).toBe(404)
  })

  test('a changed password ends every login that there was, and every login under way', async () => {
    await forgiveAll()
    const person = await people.newPerson()
    const browser = newBrowser()
    const { access_token, refresh_token } = await logIn(origin, person, { browser })
    const under_way = newBrowser()
    const proven = await tryPassword(under_way, person.email, person.password)
    expect(proven.location).toBeDefined()
    const other = newBrowser()
    const change = { email: person.email, password: person.password, new_password: 'a new long one' }
    const wrong = await other.submit(await other.get(`${origin}/oauth/password`), { ...change, password: 'wrong one' })
    expect(wrong.status).toBe(403)
    const done = await other.submit(await other.get(`${origin}/oauth/password`), change)
    expect(done.status).toBe(200)
    expect((await newCall(installation.server.api_url, access_token)('GET', '/auth/info')).status).toBe(401)
    expect((await refresh(origin, refresh_token)).body.error).toBe('invalid_grant')
    expect((await openLoginForm(browser)).text).toContain('Password')
    expect(await under_way.follow(proven)).toMatchObject({ location: undefined, status: 400 })
    expect((await tryPassword(newBrowser(), person.email, person.password)).status).toBe(403)
    expect((await logIn(origin, { ...person, password: 'a new long one' })).access_token).toBeTruthy()
  })
})

test('who is not logged in can log out all the same, and goes back where they came from', async () => {
  const browser = newBrowser()
  const done = await browser.submit(await browser.get(`${origin}/oauth/session/end`))
  expect(done).toMatchObject({ status: 200, text: expect.stringContaining('You are logged out') })
  const back = `${origin}/console/`
  const query = new URLSearchParams({ client_id: 'howdah-console', post_logout_redirect_uri: back })
  const page = await browser.submit(await browser.get(`${origin}/oauth/session/end?${query}`))
  expect(page.location).toBe(back)
})

test('a cancelled login goes back to the program that asked', async () => {
  const browser = newBrowser()
  const asked = askAs('howdah-console', origin)
  const form = await browser.follow(await browser.get(asked.url))
  const back = await browser.submit(form, { decision: 'deny' })
  expect(new URL(back.location ?? '').searchParams.get('error')).toBe('access_denied')
  expect((await tokensFor(origin, 'howdah-console', asked, 'no code')).error).toBe('invalid_grant')
})
