// A real browser before a real server: Debian's Chromium, a person who is logged in, and a record of
// everything that must not happen: errors in the console, violations of the policy, requests to elsewhere, keys in the storage.
import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import type { Role } from '#contract/endpoint.ts'
import { startInstallation, type TestInstallation, type TestOptions } from '#test/installation.ts'
import { newBrowser } from '#test/oauth/browser.ts'
import { openPeople, type People, type Person } from '#test/oauth/people.ts'
import { ensureBuilt } from './build.ts'

const programs = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const program = programs.find((path) => existsSync(path))

/** Empty where there is a browser. */
export const no_browser = program === undefined ? ' (skipped: chromium is not installed; apt-get install chromium)' : ''

export type TestBrowser = {
  howdah: TestInstallation
  people: People
  /** The origin of the console. */
  url: string
  /** A browser of its own, logged in as a new member with this role. */
  newUser(role: Role, look?: Look): Promise<User>
  /** The one that tests share, with this role from now on: a person costs some seconds of a processor, another role a loaded page. */
  userAs(role: Role): Promise<User>
  /** The same before any login. */
  newVisitor(look?: Look): Promise<Visitor>
  stop(): Promise<void>
}

type Cookie = Parameters<BrowserContext['addCookies']>[0][number]

type Look = { width?: number; theme?: 'light' | 'dark' }

export type Visitor = {
  context: BrowserContext
  page: Page
  /** What must not be: one line each. */
  wrong: string[]
  /** Names of requested paths below the API, with their method. */
  requests: { method: string; url: string }[]
  /** Goes to a page, or loads it anew when it is there. */
  open: (path: string) => Promise<void>
}

export type User = Visitor & { person: Person }

/** A region in which nothing runs, for what is between the browser and the API. */
export const without_databases = { regions: [{ region_code: 'local', provider: 'memory' }] } as const

export async function startBrowser(options: TestOptions = {}): Promise<TestBrowser> {
  await ensureBuilt()
  const howdah = await startInstallation({ sample_interval_ms: 500, ...options })
  const people = await openPeople(howdah)
  const browser = await launchBrowser()
  const origin = howdah.server.public_url
  const newUser = async (role: Role, look?: Look): Promise<User> => {
    const person = await people.newPerson(role)
    const visitor = await newVisitor(browser, origin, look)
    await visitor.context.addCookies([await sessionOf(origin, person)])
    return Object.assign(visitor, { person })
  }
  let shared: Promise<User> | undefined
  return {
    howdah,
    people,
    url: origin,
    newVisitor: (look) => newVisitor(browser, origin, look),
    newUser,
    userAs: async (role) => {
      shared ??= newUser(role)
      const user = await shared
      const member = `/projects/${howdah.project_id}/members/${user.person.user_id}`
      const { status } = await howdah.call('POST', `${member}/setRole`, { role })
      if (status !== 200) throw new Error(`setting a role answered ${status}`)
      await user.page.goto('about:blank')
      return user
    },
    stop: async () => {
      await browser.close()
      await people.close()
      await howdah.stop()
    },
  }
}

export const launchBrowser = (): Promise<Browser> =>
  chromium.launch({
    executablePath: program ?? '',
    // Without a graphics card everything is drawn by the processor anyway, and cheaper without the process that plays one.
    // Tabs of one site share a process, and what it has compiled.
    args: [
      '--no-sandbox',
      '--disable-dev-shm-usage',
      '--disable-gpu',
      '--process-per-site',
      '--force-color-profile=srgb',
    ],
  })

async function newVisitor(
  browser: Browser,
  origin: string,
  { width = 1280, theme = 'light' }: Look = {},
): Promise<Visitor> {
  const context = await browser.newContext({
    viewport: { width, height: width < 600 ? 844 : 800 },
    colorScheme: theme,
    // What turns or glides is drawn anew sixty times a second.
    reducedMotion: 'reduce',
    timezoneId: 'UTC',
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  context.setDefaultTimeout(120_000)
  const page = await context.newPage()
  const visitor: Visitor = {
    context,
    page,
    wrong: [],
    requests: [],
    open: async (path) => {
      const to = new URL(path, origin)
      if (await isInConsole(page, to)) return goTo(page, to)
      await page.goto(to.href, { waitUntil: 'commit' })
      await page.locator('h1').first().waitFor()
    },
  }
  watch(context, visitor, origin)
  return visitor
}

/** On another page of it than that one. */
async function isInConsole(page: Page, to: URL): Promise<boolean> {
  const at = new URL(page.url())
  return at.origin === to.origin && at.pathname !== to.pathname && (await page.locator('#main h1').count()) > 0
}

/** As a link does, at half the price of loading everything anew. Every page has a title of its own, once it is there. */
async function goTo(page: Page, { pathname, search }: URL): Promise<void> {
  const title = await page.title()
  // The router knows by the place of an entry which way leads back to it.
  await page.evaluate(
    (path) => history.pushState({ __TSR_index: history.state.__TSR_index + 1 }, '', path),
    pathname + search,
  )
  await page.waitForFunction((old) => document.title !== old, title, { polling: 50 })
}

/** By the forms that a browser without scripts sends, which costs a tenth of the pages that people see. */
async function sessionOf(origin: string, { email, password }: Person): Promise<Cookie> {
  const browser = newBrowser()
  const form = await browser.follow(await browser.get(`${origin}/console/login`))
  const back = await browser.submit(form, { email, password })
  await browser.get(back.location ?? '')
  const cookie = [...browser.cookies.values()].find(({ name }) => name === 'howdah_console')
  if (cookie === undefined) throw new Error(`no session (${back.status}): ${back.text.slice(-400)}`)
  const { name, value, path } = cookie
  return { name, value, path, domain: new URL(origin).hostname, httpOnly: true, sameSite: 'Strict' }
}

/** By the page that people see. */
export async function logIn(page: Page, origin: string, person: Person, path = '/'): Promise<void> {
  await page.goto(`${origin}/console/login?return=${encodeURIComponent(path)}`, { waitUntil: 'commit' })
  await page.getByLabel('E-mail').fill(person.email)
  await page.getByLabel('Password').fill(person.password)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.locator('#main').waitFor()
}

function watch(context: BrowserContext, user: Visitor, origin: string): void {
  context.on('console', (message) => {
    // A refused request is told by the browser as an error, and is none of the page.
    const is_answer = message.text().startsWith('Failed to load resource')
    if (message.type() === 'error' && !is_answer) user.wrong.push(`console: ${message.text()}`)
  })
  context.on('weberror', (error) => user.wrong.push(`error: ${error.error().message}`))
  context.on('request', (request) => {
    user.requests.push({ method: request.method(), url: request.url() })
    const { protocol } = new URL(request.url())
    const is_own = request.url().startsWith(origin) || ['data:', 'blob:'].includes(protocol)
    if (!is_own) user.wrong.push(`request to elsewhere: ${request.url()}`)
  })
}
