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
  newUser(role: Role, options?: { width?: number; theme?: 'light' | 'dark' }): Promise<User>
  stop(): Promise<void>
}

export type User = {
  person: Person
  context: BrowserContext
  page: Page
  /** What must not be: one line each. */
  wrong: string[]
  /** Names of requested paths below the API, with their method. */
  requests: { method: string; url: string }[]
  open: (path: string) => Promise<void>
}

/** A region in which nothing runs, for what is between the browser and the API. */
export const without_databases = { regions: [{ region_code: 'local', provider: 'memory' }] } as const

export async function startBrowser(options: TestOptions = {}): Promise<TestBrowser> {
  await ensureBuilt()
  const howdah = await startInstallation({ sample_interval_ms: 500, ...options })
  const people = await openPeople(howdah)
  const browser = await launchBrowser()
  return {
    howdah,
    people,
    url: howdah.server.public_url,
    newUser: (role, look = {}) => newUser({ howdah, people, browser, role, ...look }),
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
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--force-color-profile=srgb'],
  })

type UserParts = {
  howdah: TestInstallation
  people: People
  browser: Browser
  role: Role
  width?: number
  theme?: 'light' | 'dark'
}

async function newUser({ howdah, people, browser, role, width = 1280, theme = 'light' }: UserParts): Promise<User> {
  const person = await people.newPerson(role)
  const origin = howdah.server.public_url
  const context = await browser.newContext({
    viewport: { width, height: width < 600 ? 844 : 800 },
    colorScheme: theme,
    timezoneId: 'UTC',
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  const page = await context.newPage()
  const user: User = {
    person,
    context,
    page,
    wrong: [],
    requests: [],
    open: async (path) => {
      await page.goto(origin + path, { waitUntil: 'commit' })
      await page.locator('h1').first().waitFor({ timeout: 120_000 })
    },
  }
  context.setDefaultTimeout(120_000)
  watch(context, user, origin)
  await logIn(page, origin, person)
  return user
}

/** By the page that people see. */
export async function logIn(page: Page, origin: string, person: Person, path = '/'): Promise<void> {
  await page.goto(origin + path, { waitUntil: 'commit' })
  await page.getByLabel('E-mail').fill(person.email)
  await page.getByLabel('Password').fill(person.password)
  await page.getByRole('button', { name: 'Log in' }).click()
  await page.getByRole('heading', { level: 1 }).waitFor()
  await page.locator('#main').waitFor()
}

function watch(context: BrowserContext, user: User, origin: string): void {
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
