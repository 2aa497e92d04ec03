// What is on screen stays true: changes by others appear without a touch, over connections that are cut, a server that starts anew, and a
// proxy that holds answers back; in eight tabs at once.
import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { no_browser, type TestBrowser, type User } from './browser.ts'
import { handsOf } from './hands.ts'
import type { Proxy } from './proxy.ts'

let proxy: Proxy
let browser: TestBrowser
let user: User
let names = 0

/** Made by another program. */
async function changeIsSeen(...pages: Page[]): Promise<void> {
  names += 1
  const { service_id } = await browser.howdah.createService({ name: `live-${names}` })
  await Promise.all(pages.map((page) => page.getByRole('link', { name: `live-${names}`, exact: true }).waitFor()))
  await browser.howdah.call('POST', `${browser.howdah.services}/${service_id}/rename`, { name: `alive-${names}` })
  await Promise.all(pages.map((page) => page.getByRole('link', { name: `alive-${names}`, exact: true }).waitFor()))
}

const live = (page: Page) => page.getByRole('status', { name: 'live', exact: true }).waitFor()

export function liveTests(started: () => TestBrowser, between: () => Proxy): void {
  beforeAll(async () => {
    if (no_browser !== '') return
    ;[browser, proxy] = [started(), between()]
    user = await browser.userAs('owner')
    await user.open(`/projects/${browser.howdah.project_id}/services`)
    await changeIsSeen(user.page)
  })

  test.skipIf(no_browser)(`over connections that are cut${no_browser}`, async () => {
    await live(user.page)
    proxy.cut()
    await changeIsSeen(user.page)
    await live(user.page)
  })

  test.skipIf(no_browser)(`over a server that starts anew${no_browser}`, async () => {
    await browser.howdah.restart()
    proxy.to = browser.howdah.server.url
    await changeIsSeen(user.page)
    await live(user.page)
  })

  test.skipIf(no_browser)(`a page that is older than its server offers to be loaded anew${no_browser}`, async () => {
    expect(await user.page.getByRole('button', { name: /^Reload for/ }).count()).toBe(0)
    proxy.version = '9.9.9'
    proxy.cut()
    const reload = user.page.getByRole('button', { name: 'Reload for 9.9.9' })
    const loaded = user.page.waitForEvent('load')
    await reload.click()
    await loaded
    // Any answer of a server of its own version takes the offer back.
    proxy.version = undefined
    proxy.cut()
    await reload.waitFor({ state: 'detached' })
    await live(user.page)
  })

  test.skipIf(no_browser)(`a log is followed as it is written, and nothing comes twice${no_browser}`, async () => {
    const { howdah } = browser
    const { service_id } = await howdah.createService({ name: 'logged' })
    await user.open(`/projects/${howdah.project_id}/services/${service_id}/logs`)
    const entries = user.page.getByRole('region', { name: 'Log entries, newest first' }).getByRole('button')
    await entries.first().waitFor()
    for (const [verb, state] of [
      ['stop', 'stopped'],
      ['start', 'serving'],
    ] as const) {
      await howdah.call('POST', `${howdah.services}/${service_id}/${verb}`)
      await entries.first().getByText(state).waitFor()
      if (verb === 'stop') proxy.cut()
    }
    const texts = await entries.allTextContents()
    expect(new Set(texts).size).toBe(texts.length)
    await user.open(`/projects/${howdah.project_id}/services`)
  })

  test.skipIf(no_browser)(`in a tab to which the browser gives no lock${no_browser}`, async () => {
    const page = await user.context.newPage()
    await page.addInitScript(() => {
      navigator.locks.request = () => Promise.reject(new DOMException('no locks here', 'SecurityError'))
    })
    await page.goto(`${proxy.url}/projects/${browser.howdah.project_id}/services`, { waitUntil: 'commit' })
    await live(page)
    await page.close()
  })

  test.skipIf(no_browser)(`a deletion is told of when its page went before the answer came${no_browser}`, async () => {
    const { howdah } = browser
    const { service_id } = await howdah.createService({ name: 'quickly' })
    const services = `/projects/${howdah.project_id}/services`
    await user.open(`${services}/${service_id}`)
    const { promise: answer, resolve: goOn } = Promise.withResolvers<void>()
    await user.page.route(`**${services}/${service_id}`, async (route) => {
      if (route.request().method() !== 'DELETE') return route.fallback()
      const response = await route.fetch()
      await answer
      await route.fulfill({ response })
    })
    const { fromMenu, answer: press } = handsOf(() => user)
    await fromMenu('More acts', 'Delete')
    await press('Delete it')
    await user.page.getByText('no service with that id exists').first().waitFor()
    goOn()
    await user.page.getByText('quickly is being deleted').waitFor()
    await user.page.waitForURL((url) => url.pathname === services)
    await user.page.unrouteAll()
  })

  test.skipIf(no_browser)(`in eight tabs of one browser${no_browser}`, async () => {
    const pages = await Promise.all(Array.from({ length: 7 }, () => user.context.newPage()))
    const path = `${proxy.url}/projects/${browser.howdah.project_id}/services`
    await Promise.all(pages.map((page) => page.goto(path, { waitUntil: 'commit' })))
    await Promise.all(pages.map((page) => page.getByRole('link', { name: 'logged' }).waitFor()))
    await changeIsSeen(user.page, ...pages)
    await Promise.all(pages.map((page) => page.close()))
  })

  for (const compresses of ['at once', 'late'] as const) {
    test.skipIf(no_browser)(`behind a proxy that compresses, ${compresses}${no_browser}`, async () => {
      const { compressed } = proxy
      proxy.compresses = compresses
      proxy.cut()
      await changeIsSeen(user.page)
      await live(user.page)
      expect(proxy.compressed).toBeGreaterThan(compressed)
      proxy.compresses = undefined
      // A page that no stream reached asks for a while before it tries one again.
      await user.open(`/projects/${browser.howdah.project_id}/services`)
      await live(user.page)
    })
  }

  test.skipIf(no_browser)(`behind a proxy that holds streams back${no_browser}`, async () => {
    proxy.holds = true
    proxy.cut()
    await changeIsSeen(user.page)
    await live(user.page)
    expect(proxy.held).toBeGreaterThan(0)
    await changeIsSeen(user.page)
    expect(user.wrong).toEqual([])
  })
}
