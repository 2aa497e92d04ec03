// A real browser before a real server: Debian's Chromium, a person who is logged in through the real login page, and a record of
// everything that must not happen: errors in the console, violations of the policy, requests to elsewhere, keys in the storage.
import { existsSync } from 'node:fs'
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core'
import type { Role } from '#contract/endpoint.ts'
import { startInstallation, type TestInstallation, type TestOptions } from '#test/installation.ts'
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
  /** The one of this role that tests share: every login costs two seconds of a processor. */
  userOf(role: Role): Promise<User>
  /** The same before any login. */
  newVisitor(look?: Look): Promise<Visitor>
  stop(): Promise<void>
}

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
  const users = new Map<Role, Promise<User>>()
  const newUser = async (role: Role, look?: Look): Promise<User> => {
    const person = await people.newPerson(role)
    const visitor = await newVisitor(browser, howdah.server.public_url, look)
    await logIn(visitor.page, howdah.server.public_url, person)
    return Object.assign(visitor, { person })
  }
  return {
    howdah,
    people,
    url: howdah.server.public_url,
    newVisitor: (look) => newVisitor(browser, howdah.server.public_url, look),
    newUser,
    userOf: (role) => {
      const known = users.get(role) ?? newUser(role)
      users.set(role, known)
      return known
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
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--disable-gpu', '--force-color-profile=srgb'],
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

/** As a link does, which costs a tenth of what loading everything anew does. Every page has a title of its own, once it is there. */
async function goTo(page: Page, { pathname, search }: URL): Promise<void> {
  const title = await page.title()
  await page.evaluate((path) => history.pushState({}, '', path), pathname + search)
  await page.waitForFunction((old) => document.title !== old, title, { polling: 50 })
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
