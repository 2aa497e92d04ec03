// A login belongs to the browser that began it. Cookies can be planted: by another program on this machine, by a site
// below the same domain. So each attack here gives one browser cookies of another one, and must gain nothing by it.
import { once } from 'node:events'
import { createServer, type Server as HttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { newCall } from '#test/call.ts'
import { startInstallation, type TestInstallation } from '#test/installation.ts'
import { type Browser, formIn, newBrowser, type Page } from '#test/oauth/browser.ts'
import { askAs, type Asked, codeFrom, openPeople, type People, type Person, tokensFor } from '#test/oauth/people.ts'

/** Which cookies are planted: those of the authorization server, or all of the browser. */
const plantings = [
  { planted: ['howdah_login'] },
  { planted: ['howdah_resume'] },
  { planted: ['howdah_login', 'howdah_resume'] },
  { planted: 'all' },
] as const
type Planted = (typeof plantings)[number]['planted']

function plant(planted: Planted, from: Browser, to: Browser): void {
  for (const [key, cookie] of from.cookies) {
    if (planted === 'all' || planted.some((name) => name === cookie.name)) to.cookies.set(key, cookie)
  }
}

/** Where the library goes on with the login of this page. */
const resumeOf = (login_url: string) => login_url.replace('/oauth/login/', '/oauth/auth/').replace(/\/external.*/, '')

/** Whose session the browser has; undefined for none. */
async function sessionOf(browser: Browser, { server }: TestInstallation): Promise<string | undefined> {
  const asked = askAs('howdah-console', server.public_url, { prompt: 'none' })
  const back = await browser.follow(await browser.get(asked.url))
  if (new URL(back.location ?? '').searchParams.get('error') === 'login_required') return undefined
  return userOf(server, asked, back)
}

async function userOf(server: TestInstallation['server'], asked: Asked, back: Page): Promise<string> {
  const { access_token } = await tokensFor(server.public_url, 'howdah-console', asked, codeFrom(back, asked))
  const info = await newCall(server.api_url, access_token)<{ oauth: { user: { email: string } } }>('GET', '/auth/info')
  return info.body.oauth.user.email
}

/** No code came back from it. */
function expectNoCode(page: Page): void {
  expect(page.location ?? '').not.toContain('code=')
}

describe('with a password', () => {
  let installation: TestInstallation
  let people: People
  let victim: Person
  let attacker: Person
  let origin: string

  beforeAll(async () => {
    installation = await startInstallation()
    people = await openPeople(installation)
    victim = await people.newPerson()
    attacker = await people.newPerson()
    origin = installation.server.public_url
  })

  afterAll(async () => {
    await people?.close()
    await installation?.stop()
  })

  async function begin(browser: Browser) {
    const asked = askAs('howdah-console', origin)
    const form = await browser.follow(await browser.get(asked.url))
    return { asked, form, resume: resumeOf(form.url) }
  }

  /** Fills in the form at this address, if there is one; goes no further. */
  async function typePassword(browser: Browser, url: string, { email, password }: Person): Promise<Page> {
    const page = await browser.get(url)
    if (page.status !== 200) return page
    const { action, fields } = formIn(page)
    return browser.post(action, { ...fields, email, password })
  }

  test.each(plantings)(
    'the attacker’s browser cannot finish what the victim logged in to: $planted',
    async ({ planted }) => {
      const [attacking, attacked] = [newBrowser(), newBrowser()]
      const { form, resume } = await begin(attacking)
      plant(planted, attacking, attacked)
      await typePassword(attacked, form.url, victim)
      expectNoCode(await attacking.follow(await attacking.get(resume)))
      expect(await sessionOf(attacking, installation)).toBeUndefined()
    },
  )

  test('a victim with every planted cookie who logged in goes on alone, whatever the attacker tried meanwhile', async () => {
    const [attacking, attacked] = [newBrowser(), newBrowser()]
    const { asked, form, resume } = await begin(attacking)
    plant('all', attacking, attacked)
    const done = await typePassword(attacked, form.url, victim)
    expectNoCode(await attacking.follow(await attacking.get(resume)))
    expectNoCode(await attacking.follow(await typePassword(attacking, form.url, attacker)))
    expect(await userOf(installation.server, asked, await attacked.follow(done))).toBe(victim.email)
    expect(await sessionOf(attacked, installation)).toBe(victim.email)
    expect(await sessionOf(attacking, installation)).toBeUndefined()
  })

  test('of two browsers with the same cookies that log in at once, at most one gets anywhere, as itself', async () => {
    const [attacking, attacked] = [newBrowser(), newBrowser()]
    const { form } = await begin(attacking)
    plant('all', attacking, attacked)
    const { action, fields } = formIn(form)
    const both = [
      { browser: attacking, person: attacker },
      { browser: attacked, person: victim },
    ]
    await Promise.all(
      both.map(async ({ browser, person: { email, password } }) =>
        browser.follow(await browser.post(action, { ...fields, email, password })),
      ),
    )
    for (const { browser, person } of both) {
      expect([undefined, person.email]).toContain(await sessionOf(browser, installation))
    }
  })

  test.each(plantings.slice(0, 3))(
    'the victim’s browser cannot be made to finish the attacker’s login: $planted',
    async ({ planted }) => {
      const [attacking, attacked] = [newBrowser(), newBrowser()]
      const { form, resume } = await begin(attacking)
      await typePassword(attacking, form.url, attacker)
      plant(planted, attacking, attacked)
      expectNoCode(await attacked.follow(await attacked.get(resume)))
      expect(await sessionOf(attacked, installation)).toBeUndefined()
    },
  )

  test('logins in several tabs of one browser do not disturb each other', async () => {
    const browser = newBrowser()
    const tabs = [await begin(browser), await begin(browser)]
    for (const { asked, form } of tabs.toReversed()) {
      const back = await browser.submit(form, { email: victim.email, password: victim.password })
      expect(await userOf(installation.server, asked, back)).toBe(victim.email)
    }
  })
})

describe('at an outside issuer', () => {
  let installation: TestInstallation
  let listener: HttpServer
  let issuer: string
  let origin: string

  beforeAll(async () => {
    listener = createServer().listen(0, '127.0.0.1')
    await once(listener, 'listening')
    issuer = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`
    installation = await startInstallation({
      config: { oidc_issuer: issuer, oidc_client_id: 'howdah', oidc_client_secret: 'it is secret' },
    })
    origin = installation.server.public_url
    // Its hints about a production setup are not for a test.
    vi.spyOn(console, 'info').mockImplementation(() => undefined)
    vi.spyOn(console, 'warn').mockImplementation(() => undefined)
    const redirect_uris = [`${origin}/oauth/external/callback`]
    const provider = new Provider(issuer, {
      clients: [{ client_id: 'howdah', client_secret: 'it is secret', redirect_uris }],
      claims: { openid: ['sub'], email: ['email', 'email_verified'] },
      cookies: { keys: ['of the test'] },
      findAccount: async (_context, id) => ({
        accountId: id,
        claims: async () => ({ sub: id, email: `${id}@example.com`, email_verified: true }),
      }),
    })
    const answer = provider.callback()
    listener.on('request', (request, response) => void answer(request, response))
  })

  afterAll(async () => {
    await installation?.stop()
    listener?.close()
    listener?.closeAllConnections()
  })

  /** Follows redirects across both servers until `stop` says so, or there are none any more. */
  async function walk(browser: Browser, page: Page, stop: (url: string) => boolean): Promise<Page> {
    let at = page
    while (at.location !== undefined && !stop(at.location)) at = await browser.get(at.location)
    return at
  }

  const isConsole = (url: string) => url.startsWith(`${origin}/console/`)
  const isCallback = (url: string) => url.startsWith(`${origin}/oauth/external/callback`)
  const isResume = (url: string) => url.startsWith(`${origin}/oauth/auth/`) || isConsole(url)

  /** Logs in at the issuer, on a page of it, up to its answer to us. */
  async function answerOf(browser: Browser, url: string, login: string): Promise<string> {
    let page = await walk(browser, await browser.get(url), isCallback)
    while (page.location === undefined) {
      const { action, fields } = formIn(page)
      page = await walk(browser, await browser.post(action, { ...fields, login, password: 'any' }), isCallback)
    }
    return page.location
  }

  /** Begins here, up to the address at the issuer. */
  async function begin(browser: Browser) {
    const asked = askAs('howdah-console', origin)
    const first = await browser.get(asked.url)
    const elsewhere = await browser.get(first.location ?? '')
    return { asked, at_issuer: elsewhere.location ?? '', resume: resumeOf(first.location ?? '') }
  }

  test.each(plantings)(
    'the attacker’s browser cannot finish what the victim logged in to: $planted',
    async ({ planted }) => {
      const [attacking, attacked] = [newBrowser(), newBrowser()]
      const { at_issuer, resume } = await begin(attacking)
      plant(planted, attacking, attacked)
      const answer = await answerOf(attacked, at_issuer, 'victim')
      await walk(attacked, await attacked.get(answer), isResume)
      expectNoCode(await walk(attacking, await attacking.get(resume), isConsole))
      expect(await sessionOf(attacking, installation)).toBeUndefined()
    },
  )

  test.each(plantings.slice(0, 3))(
    'the victim’s browser cannot be made to finish the attacker’s login: $planted',
    async ({ planted }) => {
      const [attacking, attacked] = [newBrowser(), newBrowser()]
      const { at_issuer, resume } = await begin(attacking)
      const answer = await answerOf(attacking, at_issuer, 'attacker')
      plant(planted, attacking, attacked)
      // Before the answer was used, and after.
      expectNoCode(await walk(attacked, await attacked.get(answer), isConsole))
      await walk(attacking, await attacking.get(answer), isResume)
      expectNoCode(await walk(attacked, await attacked.get(resume), isConsole))
      expect(await sessionOf(attacked, installation)).toBeUndefined()
    },
  )

  test('a browser that goes the whole way is logged in', async () => {
    const browser = newBrowser()
    const { asked, at_issuer } = await begin(browser)
    const answer = await answerOf(browser, at_issuer, 'somebody')
    const back = await walk(browser, await browser.get(answer), isConsole)
    expect(await userOf(installation.server, asked, back)).toBe('somebody@example.com')
  })
})
