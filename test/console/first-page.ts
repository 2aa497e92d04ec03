// The first page: what it needs is asked for once, however early, and what its code leaves for later is there when it is wanted.
import { expect, test } from 'vitest'
import { until } from '#test/until.ts'
import { no_browser, type TestBrowser } from './browser.ts'
import type { Proxy } from './proxy.ts'

const shorter = 20

export function firstPageTests(started: () => TestBrowser, between: () => Proxy): void {
  test.skipIf(no_browser)(`what the first page needs is asked for once${no_browser}`, async () => {
    const browser = started()
    const { howdah, url } = browser
    const { service_id } = await howdah.createService({ name: 'early' })
    const { page, context, requests } = await browser.newUser('viewer')
    const of_list = [howdah.services, `${howdah.services}?limit=500`, 'Services'] as const
    const of_service = `${howdah.services}/${service_id}`
    for (const [path, asks, title] of [
      of_list,
      ['/', ...of_list.slice(1)],
      [of_service, of_service, 'early'],
      [`${of_service}/connect`, of_service, 'early'],
    ] as const) {
      await page.goto('about:blank')
      requests.length = 0
      await page.goto(url + path, { waitUntil: 'commit' })
      await page.getByRole('heading', { name: title, level: 1 }).waitFor()
      const all = requests.map(({ method, url: to }) => `${method} ${to.slice(url.length)}`)
      // From then on changes are followed, and asked for again.
      const followed = all.findIndex((one) => one.includes('/events'))
      const asked = followed === -1 ? all : all.slice(0, followed)
      const api = '/public/api/v1'
      for (const one of ['POST /console/session', `GET ${api}/projects`, `GET ${api}${asks}`]) {
        expect(asked.filter((other) => other === one)).toEqual([one])
      }
    }
    await context.close()
  })

  test.skipIf(no_browser)(`what it can do without may fail to come${no_browser}`, async () => {
    const [browser, proxy] = [started(), between()]
    const { page, context, open, wrong } = await browser.newUser('viewer')
    proxy.lacks = /\/assets\/later-/
    try {
      const lost = page.waitForResponse((response) => response.url().includes('/assets/later-'))
      await open(browser.howdah.services)
      expect((await lost).status()).toBe(404)
    } finally {
      proxy.lacks = undefined
    }
    await page.getByRole('button', { name: 'Account', exact: true }).click()
    await page.getByRole('menuitem').first().waitFor()
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Services')
    expect(wrong).toEqual([])
    await context.close()
  })

  test.skipIf(no_browser)(`what opens over it says when its code does not come${no_browser}`, async () => {
    const [browser, proxy] = [started(), between()]
    const { page, context, open, wrong } = await browser.newUser('viewer')
    const note = page.getByRole('alertdialog', { name: 'Not loaded' })
    const account = page.getByRole('button', { name: 'Account', exact: true })
    proxy.lacks = /\/assets\/(later|open-menu|palette)-/
    try {
      await open(browser.howdah.services)
      await page.keyboard.press('Control+k')
      await note.waitFor()
      await page.keyboard.press('Escape')
      await note.waitFor({ state: 'detached' })
      await account.press('Enter')
      await note.waitFor()
    } finally {
      proxy.lacks = undefined
    }
    await note.getByRole('button', { name: 'Try again' }).click()
    await page.getByRole('menuitem').first().waitFor()
    await note.waitFor({ state: 'detached' })
    expect(await page.getByRole('heading', { level: 1 }).textContent()).toBe('Services')
    await page.keyboard.press('Escape')
    await until(async () => await account.evaluate((button) => button === document.activeElement))
    expect(wrong).toEqual([])
    await context.close()
  })

  test.skipIf(no_browser)(`what it asks first is given up in the end${no_browser}`, async () => {
    const [browser, proxy] = [started(), between()]
    const { howdah, url } = browser
    const { page, context, requests } = await browser.newUser('viewer')
    await page.addInitScript((times) => {
      const limitOf = AbortSignal.timeout.bind(AbortSignal)
      AbortSignal.timeout = (ms) => limitOf(ms / times)
    }, shorter)
    const { promise, resolve } = Promise.withResolvers<void>()
    try {
      proxy.waits = { what: /\/services\?limit=/, until: promise }
      await page.goto(url + howdah.services, { waitUntil: 'commit' })
      await page.getByRole('heading', { name: 'This page could not be loaded' }).waitFor()
      // Without a login there is no page; it is loaded anew until there is one.
      proxy.waits = { what: /^POST \/console\/session/, until: promise }
      requests.length = 0
      await page.goto(url + howdah.services, { waitUntil: 'commit' })
      await until(() => requests.filter(({ url: to }) => to.endsWith('/console/session')).length > 1)
    } finally {
      proxy.waits = undefined
      resolve()
    }
    await page.getByRole('heading', { name: 'Services', level: 1 }).waitFor()
    await context.close()
  })
}
