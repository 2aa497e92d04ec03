// A page that stays open: what others remove, an answer that was lost, what is typed fast, a tab that is not seen, a login that ends, another
// user in the same browser, and charts that are drawn again and again.
import type { Page, Request } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { until } from '#test/until.ts'
import { logIn, no_browser, type TestBrowser, type User } from './browser.ts'
import { handsOf } from './hands.ts'
import type { Proxy } from './proxy.ts'

let browser: TestBrowser
let proxy: Proxy
let user: User
const { press, answer } = handsOf(() => user)

const hidden_ms = 5 * 60_000
const services = () => `/projects/${browser.howdah.project_id}/services`
const live = (page: Page) => page.getByRole('status', { name: 'live', exact: true }).waitFor()

export function openPageTests(started: () => TestBrowser, between: () => Proxy): void {
  beforeAll(async () => {
    if (no_browser !== '') return
    ;[browser, proxy] = [started(), between()]
    user = await browser.userAs('owner')
  })

  test.skipIf(no_browser)(`a service that another program removes is gone from its page${no_browser}`, async () => {
    const { service_id } = await browser.howdah.createService({ name: 'short-lived' })
    await user.open(`${services()}/${service_id}`)
    await user.page.getByRole('heading', { name: 'short-lived', level: 1 }).waitFor()
    await browser.howdah.call('DELETE', `${browser.howdah.services}/${service_id}`)
    await user.page.getByRole('heading', { name: 'Not found', level: 1 }).waitFor()
  })

  test.skipIf(no_browser)(
    `an act without a question tells what went wrong, and is tried again${no_browser}`,
    async () => {
      const { service_id } = await browser.howdah.createService({ name: 'kept-up' })
      await user.open(`${services()}/${service_id}`)
      const { promise, resolve } = Promise.withResolvers<void>()
      proxy.loses = /\/stop$/
      proxy.waits = { what: /^POST .*\/stop$/, until: promise }
      try {
        await press('Stop')
        // Impatience makes it no other request, and takes nothing of the answer.
        await press('Stop')
        resolve()
        const dialog = user.page.getByRole('dialog', { name: 'kept-up was not stopped' })
        await dialog.getByRole('alert').getByText('the server cannot be reached').waitFor()
      } finally {
        proxy.loses = undefined
        proxy.waits = undefined
        resolve()
      }
      await answer('Cancel')
      await user.page.getByRole('status').getByText('PAUSED').waitFor()
      // What one act met is none of the next one's.
      await press('Start')
      await user.page.getByRole('status').getByText('READY').waitFor()
      expect(await user.page.getByRole('alert').count()).toBe(0)
    },
  )

  test.skipIf(no_browser)(`an act that is done leaves another one's dialog as it is${no_browser}`, async () => {
    const { service_id } = await browser.howdah.createService({ name: 'looked-at' })
    await user.open(`${services()}/${service_id}`)
    const name = user.page.getByRole('dialog').getByLabel('Name', { exact: true })
    const { promise, resolve } = Promise.withResolvers<void>()
    proxy.waits = { what: /^POST .*\/stop$/, until: promise }
    try {
      await press('Stop')
      await press('Fork')
      await name.fill('looked-at-twin')
    } finally {
      proxy.waits = undefined
      resolve()
    }
    await user.page.getByText('looked-at is stopping').waitFor()
    expect(await name.inputValue()).toBe('looked-at-twin')
    await answer('Cancel')
  })

  test.skipIf(no_browser)(`a fork whose answer was lost is not made twice${no_browser}`, async () => {
    const { howdah } = browser
    const { service_id } = await howdah.createService({ name: 'origin' })
    await user.open(`${services()}/${service_id}`)
    await press('Fork')
    await user.page.getByRole('dialog').getByLabel('Name', { exact: true }).fill('made-once')
    await user.page.getByRole('dialog').getByLabel('Ends by itself').selectOption('in an hour')
    proxy.loses = /\/forkService$/
    try {
      await answer('Fork')
      await user.page.getByRole('dialog').getByRole('alert').waitFor()
    } finally {
      proxy.loses = undefined
    }
    await answer('Fork')
    await user.page.getByRole('heading', { name: 'made-once', level: 1 }).waitFor()
    const { body } = await howdah.call<{ name: string }[]>('GET', howdah.services)
    expect(body.filter(({ name }) => name === 'made-once')).toHaveLength(1)
    await user.page.getByRole('checkbox', { name: 'I have it' }).check()
    await press('Close for ever')
  })

  test.skipIf(no_browser)(`an act without a network has failed, and is not done later${no_browser}`, async () => {
    const { howdah } = browser
    const { service_id } = await howdah.createService({ name: 'lonely' })
    const { context, open, page } = await browser.newUser('owner')
    await open(`${services()}/${service_id}`)
    await page.getByRole('button', { name: 'Fork', exact: true }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name', { exact: true }).fill('lonely-twin')
    await context.setOffline(true)
    await dialog.getByRole('button', { name: 'Fork', exact: true }).click()
    await dialog.getByRole('alert').waitFor()
    await dialog.getByRole('button', { name: 'Cancel', exact: true }).click()
    await dialog.waitFor({ state: 'detached' })
    await context.setOffline(false)
    await live(page)
    const { body } = await howdah.call<{ name: string }[]>('GET', howdah.services)
    expect(body.map(({ name }) => name)).not.toContain('lonely-twin')
    await context.close()
  })

  test.skipIf(no_browser)(`what is typed fast stands where it was typed${no_browser}`, async () => {
    const { page } = user
    await user.open(services())
    const field = page.getByLabel('Search services')
    await field.click()
    await page.keyboard.type('cdef')
    await page.keyboard.press('Home')
    await page.keyboard.type('ab')
    expect(await field.inputValue()).toBe('abcdef')
    await until(() => new URL(page.url()).searchParams.get('q') === 'abcdef')
    await press('Clear the filters')
    await until(() => new URL(page.url()).search === '')
    expect(await field.inputValue()).toBe('')
  })

  test.skipIf(no_browser)(`a range of the log is asked for once${no_browser}`, async () => {
    const { page } = user
    const { service_id } = await browser.howdah.createService({ name: 'read' })
    await user.open(`${services()}/${service_id}/logs`)
    const isAsked = (request: Request) =>
      /\/logs\?.*since=/.test(request.url()) && request.headers()['accept'] !== 'text/event-stream'
    const asked: string[] = []
    page.on('request', (request) => void (isAsked(request) && asked.push(request.url())))
    const answered = page.waitForResponse((response) => isAsked(response.request()))
    await page.getByLabel('Range').selectOption('1h')
    await (await answered).finished()
    expect(asked).toHaveLength(1)
  })

  test.skipIf(no_browser)(`a statement waits while another page of the service is looked at${no_browser}`, async () => {
    const { service_id } = await browser.howdah.createService({ name: 'asked' })
    await user.open(`${services()}/${service_id}/sql`)
    await user.page.getByLabel('Statement').fill('select 40 + 2')
    await user.page.getByRole('link', { name: 'Replicas', exact: true }).click()
    const chosen = (count: string) => user.page.getByRole('group', { name: 'How many' }).getByLabel(count).isChecked()
    await until(async () => await chosen('0'))
    // Nothing was chosen on this page, so it shows what another program has chosen.
    await browser.howdah.call('POST', `${browser.howdah.services}/${service_id}/setHA`, {
      replica_count: 1,
      sync_replica_count: 0,
    })
    await until(async () => await chosen('1'))
    await user.page.getByRole('link', { name: 'SQL', exact: true }).click()
    expect(await user.page.getByLabel('Statement').inputValue()).toBe('select 40 + 2')
  })

  test.skipIf(no_browser)(`a tab that is not seen for long leaves the stream to the next${no_browser}`, async () => {
    const { context, open, page: first, wrong } = await browser.newUser('owner')
    await first.clock.install()
    await open(services())
    await live(first)
    const second = await context.newPage()
    await second.goto(browser.url + services(), { waitUntil: 'commit' })
    await live(second)
    const stream = second.waitForRequest(
      (request) => request.url().includes('/events') && request.headers()['accept'] === 'text/event-stream',
    )
    await first.evaluate(() => {
      Object.defineProperty(document, 'visibilityState', { get: () => 'hidden' })
      document.dispatchEvent(new Event('visibilitychange'))
    })
    await first.clock.fastForward(hidden_ms)
    await stream
    await live(second)
    expect(wrong).toEqual([])
    await context.close()
  })

  test.skipIf(no_browser)(`a login that has ended is told once, until there is one again${no_browser}`, async () => {
    const one = await browser.newUser('owner')
    await one.open(services())
    await browser.people.db.query('delete from oauth_records where user_id = $1', [Number(one.person.user_id)])
    await one.page.getByRole('button', { name: 'Look at the page first' }).click()
    const ended = one.page.getByText('Your login has ended, and the page is as old as that.')
    await ended.waitFor()
    const refused = () => one.page.waitForResponse((response) => response.status() === 401)
    await refused()
    await refused()
    expect(await one.page.getByRole('dialog').count()).toBe(0)
    // In another tab; the page goes on by itself.
    const other = await one.context.newPage()
    await logIn(other, browser.url, one.person)
    await ended.waitFor({ state: 'detached' })
    await one.context.close()
  })

  test.skipIf(no_browser)(`another user in the same browser gets a page of their own${no_browser}`, async () => {
    const one = await browser.newUser('owner')
    const next = await browser.people.newPerson('owner')
    await one.open(`/account`)
    await one.page.getByText(one.person.email).waitFor()
    const other = await one.context.newPage()
    await other.goto(`${browser.url}/account`, { waitUntil: 'commit' })
    await other.getByRole('main').getByRole('button', { name: 'Log out' }).click()
    await other.getByLabel('E-mail').waitFor()
    await logIn(other, browser.url, next)
    await one.page.getByText(next.email).waitFor()
    expect(await one.page.getByText(one.person.email).count()).toBe(0)
    await one.context.close()
  })

  test.skipIf(no_browser)(`a chart that is drawn again listens once${no_browser}`, async () => {
    const { service_id } = await browser.howdah.createService({ name: 'drawn' })
    const { context, open, page } = await browser.newUser('viewer')
    await open(`${services()}/${service_id}/metrics`)
    const chart = page.locator('[role=img]:has(canvas)').first()
    await chart.waitFor()
    const devtools = await context.newCDPSession(page)
    const listeners = async (): Promise<number> => {
      const { result } = await devtools.send('Runtime.evaluate', {
        expression: `document.querySelector('[role=img]:has(canvas)')`,
      })
      const { listeners } = await devtools.send('DOMDebugger.getEventListeners', { objectId: result.objectId ?? '' })
      return listeners.filter(({ type }) => type === 'dblclick').length
    }
    for (const name of ['min', 'max', 'last']) {
      const drawn = page.waitForResponse((response) => response.url().endsWith('/metrics/series'))
      await page.locator('label', { hasText: new RegExp(`^${name}$`) }).click()
      await (await drawn).finished()
    }
    expect(await listeners()).toBeLessThanOrEqual(1)
    await context.close()
  })
}
