// Logging in at an outside issuer: a second, real issuer of this test. Whom it knows becomes a user here, invited
// or new, with the roles that their groups give; nothing that it did not say for this very login is believed.
import { createServer, type Server as HttpServer } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { Provider } from 'oidc-provider'
import { afterAll, beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import type { GroupRole } from '#server/oauth/external-user.ts'
import { newCall } from '#test/call.ts'
import { launchBrowser, no_browser } from '#test/console/browser.ts'
import { ensureBuilt } from '#test/console/build.ts'
import { startInstallation, type TestInstallation } from '#test/installation.ts'
import { type Browser, newBrowser, type Page } from './browser.ts'
import { askAs, codeFrom, openPeople, type People, postToken, statusFor, tokensFor } from './people.ts'

type Account = { email?: string; email_verified?: boolean; name?: string; groups?: string[] }

const accounts = new Map<string, Account>()
const group_roles: GroupRole[] = []
let issuer: string
let listener: HttpServer
let installation: TestInstallation
let people: People
let origin: string

beforeAll(async () => {
  listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  // Another site than ours, for a browser.
  issuer = `http://localhost:${(listener.address() as AddressInfo).port}`
  installation = await startInstallation({
    config: {
      oidc_issuer: issuer,
      oidc_client_id: 'howdah',
      oidc_client_secret: 'it is secret',
      oidc_groups: group_roles,
    },
  })
  origin = installation.server.public_url
  people = await openPeople(installation)
  group_roles.push({ group: 'developers', project_id: installation.project_id, role: 'developer' })
  group_roles.push({ group: 'bosses', project_id: installation.project_id, role: 'admin' })
  // Its hints about a production setup are not for a test.
  vi.spyOn(console, 'info').mockImplementation(() => undefined)
  vi.spyOn(console, 'warn').mockImplementation(() => undefined)
  const answer = newIssuer().callback()
  listener.on('request', (request, response) => void answer(request, response))
})

afterAll(async () => {
  await people?.close()
  await installation?.stop()
  listener?.close()
  listener?.closeAllConnections()
})

function newIssuer(): Provider {
  return new Provider(issuer, {
    clients: [
      {
        client_id: 'howdah',
        client_secret: 'it is secret',
        redirect_uris: [`${origin}/oauth/external/callback`],
      },
    ],
    claims: { openid: ['sub', 'groups'], email: ['email', 'email_verified'], profile: ['name'] },
    cookies: { keys: ['of the test'] },
    pkce: { required: () => true },
    findAccount: async (_context, id) => ({
      accountId: id,
      claims: async () => ({ sub: id, ...accounts.get(id) }),
    }),
  })
}

/** Goes on until there is a page to look at, or the console is reached. */
async function walk(browser: Browser, page: Page): Promise<Page> {
  let at = page
  while (at.location !== undefined && !at.location.startsWith(`${origin}/console/`)) at = await browser.get(at.location)
  return at
}

async function logInAs(id: string, browser = newBrowser()): Promise<{ page: Page; token: () => Promise<string> }> {
  const asked = askAs('howdah-console', origin)
  let page = await walk(browser, await browser.get(asked.url))
  expect(page.url.startsWith(issuer)).toBe(true)
  page = await walk(browser, await browser.submit(page, { login: id, password: 'any' }))
  if (page.url.startsWith(issuer) && page.text.includes('<form')) page = await walk(browser, await browser.submit(page))
  const token = async () => {
    const { access_token } = await tokensFor(origin, 'howdah-console', asked, codeFrom(page, asked))
    return access_token
  }
  return { page, token }
}

type Info = { oauth: { user: { id: string; email: string; name: string } } }

async function whoIs(token: string): Promise<Info['oauth']['user']> {
  const { body } = await newCall(installation.server.api_url, token)<Info>('GET', '/auth/info')
  return body.oauth.user
}

const roleOf = async (token: string) => {
  const members = await newCall(installation.server.api_url, installation.token)<{ user_id: string; role: string }[]>(
    'GET',
    `/projects/${installation.project_id}/members`,
  )
  const { id } = await whoIs(token)
  return members.body.find((member) => member.user_id === id)?.role
}

test('a new person becomes a user, once, and belongs to nothing', async () => {
  accounts.set('ada', { email: 'ada@example.com', email_verified: true, name: 'Ada' })
  const first = await (await logInAs('ada')).token()
  const user = await whoIs(first)
  expect(user).toMatchObject({ email: 'ada@example.com', name: 'Ada' })
  const projects = await newCall(installation.server.api_url, first)<unknown[]>('GET', '/projects')
  expect(projects.body).toEqual([])
  // What identifies them is their subject there; a new e-mail there changes nothing.
  accounts.set('ada', { email: 'ada@elsewhere.example', email_verified: true, name: 'Ada' })
  expect((await whoIs(await (await logInAs('ada')).token())).id).toBe(user.id)
})

test('who was invited by e-mail is a member when they come, if the issuer vouches for the address', async () => {
  const invite = { email: 'grace@example.com', role: 'viewer' }
  const call = newCall(installation.server.api_url, installation.token)
  expect((await call('POST', `/projects/${installation.project_id}/members`, invite)).status).toBe(201)
  accounts.set('grace', { email: 'Grace@example.com', email_verified: false, name: 'Somebody else' })
  const refused = await logInAs('grace')
  expect(refused.page.status).toBe(403)
  expect(refused.page.text).toContain('does not vouch')
  accounts.set('grace', { email: 'grace@example', email_verified: true, name: 'Grace' })
  expect((await logInAs('grace')).page.text).toContain('no domain with a dot')
  accounts.set('grace', { email: 'Grace@example.com', email_verified: true, name: 'Grace' })
  // As if they had joined by a project's link, before there was an issuer.
  await people.db.query('update users set claimed_in = $1 where email = $2', [installation.project_id, invite.email])
  expect(await roleOf(await (await logInAs('grace')).token())).toBe('viewer')
  const now = await people.db.query('select claimed_in from users where email = $1', [invite.email])
  expect(now).toEqual([{ claimed_in: null }])
})

test('a disabled user does not get in, also not as a new person at the issuer', async () => {
  const email = 'mallory@example.com'
  accounts.set('mallory', { email, email_verified: true, name: 'Mallory', groups: ['developers'] })
  const token = await (await logInAs('mallory')).token()
  const setDisabled = (at: string | null) =>
    people.db.query('update users set disabled_at = $1 where email = $2', [at, email])
  await setDisabled('2026-01-01T00:00:00Z')
  accounts.set('another', { email, email_verified: true, name: 'Mallory' })
  for (const id of ['mallory', 'another']) {
    const { page } = await logInAs(id)
    expect([page.status, page.text.includes('Your account is disabled here')], id).toEqual([403, true])
  }
  await expect.poll(() => statusFor(installation, token), { timeout: 30_000 }).toBe(401)
  await setDisabled(null)
  expect(await roleOf(await (await logInAs('mallory')).token())).toBe('developer')
})

test('groups make members, change their role, and end it; who was invited stays', async () => {
  const account = { email: 'linus@example.com', email_verified: true, name: 'Linus' }
  accounts.set('linus', { ...account, groups: ['developers', 'others'] })
  expect(await roleOf(await (await logInAs('linus')).token())).toBe('developer')
  accounts.set('linus', { ...account, groups: ['developers', 'bosses'] })
  expect(await roleOf(await (await logInAs('linus')).token())).toBe('admin')
  accounts.set('linus', { ...account, groups: [] })
  expect(await roleOf(await (await logInAs('linus')).token())).toBeUndefined()
  accounts.set('grace', { email: 'grace@example.com', email_verified: true, name: 'Grace', groups: ['bosses'] })
  expect(await roleOf(await (await logInAs('grace')).token())).toBe('viewer')
})

test('an answer that is not for this login, or comes twice, is refused', async () => {
  accounts.set('eve', { email: 'eve@example.com', email_verified: true, name: 'Eve' })
  const browser = newBrowser()
  // Up to the issuer's answer, which is kept back.
  let page = await walk(browser, await browser.get(askAs('howdah-console', origin).url))
  page = await browser.submit(page, { login: 'eve', password: 'any' })
  while (page.location === undefined) page = await browser.submit(page)
  const answer = page.location
  expect(answer.startsWith(`${origin}/oauth/external/callback?`)).toBe(true)
  // Another browser, which did not begin this login.
  expect((await walk(newBrowser(), await newBrowser().get(answer))).status).toBe(404)
  const changed = (name: string, value: string) => {
    const url = new URL(answer)
    url.searchParams.set(name, value)
    return url.href
  }
  const state = new URL(answer).searchParams.get('state') ?? ''
  expect((await walk(browser, await browser.get(changed('state', `${state}x`)))).status).toBe(404)
  expect((await walk(browser, await browser.get(changed('state', '//evil.example')))).status).toBe(404)
  expect((await walk(browser, await browser.get(changed('iss', 'https://evil.example')))).status).toBe(403)
  // That answer has used up its state; even the right one comes too late now.
  expect((await walk(browser, await browser.get(answer))).status).toBe(404)
})

test('a device is logged in there, by a link that is no redirect of a form', async () => {
  accounts.set('ken', { email: 'ken@example.com', email_verified: true, name: 'Ken' })
  const { body } = await postToken(origin, { client_id: 'howdah-cli', scope: 'api' }, 'device/auth')
  const { device_code, user_code } = body as unknown as { device_code: string; user_code: string } // by RFC 8628
  const browser = newBrowser()
  const confirm = await browser.submit(await browser.get(`${origin}/oauth/device`), { user_code })
  const page = await browser.submit(confirm)
  expect(page.status).toBe(200)
  const link = (/<a href="([^"]*)"/.exec(page.text)?.[1] ?? '').replaceAll('&amp;', '&')
  expect(link.startsWith(issuer)).toBe(true)
  let at = await walk(browser, await browser.get(link))
  at = await walk(browser, await browser.submit(at, { login: 'ken', password: 'any' }))
  if (at.url.startsWith(issuer)) at = await walk(browser, await browser.submit(at))
  expect(at.text).toContain('You are logged in')
  const grant_type = 'urn:ietf:params:oauth:grant-type:device_code'
  const tokens = await postToken(origin, { grant_type, client_id: 'howdah-cli', device_code })
  expect((await whoIs(tokens.body.access_token)).email).toBe('ken@example.com')
})

test('there is no password to guess or to change', async () => {
  const browser = newBrowser()
  expect((await browser.get(`${origin}/oauth/password`)).status).toBe(404)
  const first = await browser.get(askAs('howdah-console', origin).url)
  const page = await browser.post(first.location ?? '', { email: 'ada@example.com', password: 'any' })
  expect(page.status).toBe(403)
})

test.skipIf(no_browser)(`a browser comes from another site back into the console${no_browser}`, async () => {
  accounts.set('rosa', { email: 'rosa@example.com', email_verified: true, name: 'Rosa', groups: ['developers'] })
  await ensureBuilt()
  const browser = await launchBrowser()
  onTestFinished(() => browser.close())
  const page = await browser.newPage()
  const asked = `${origin}/projects/${installation.project_id}/services`
  await page.goto(asked, { waitUntil: 'commit' })
  await page.locator('input[name=login]').fill('rosa')
  expect(page.url().startsWith(issuer)).toBe(true)
  await page.locator('input[name=password]').fill('any')
  await page.locator('button[type=submit]').click()
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.getByRole('heading', { level: 1, name: 'Services' }).waitFor()
  expect(page.url()).toBe(asked)
  // The cookie is for requests of this site alone, which a reload is.
  await page.reload({ waitUntil: 'commit' })
  await page.getByRole('heading', { level: 1, name: 'Services' }).waitFor()
})
