// A project with more services than a browser likes to draw: of the rows only those in sight exist, and all of them are found, sorted and reached.
// And where one has been, the palette offers first.
import type { Page } from 'playwright-core'
import { expect, test } from 'vitest'
import { insertEvent } from '#server/event.ts'
import { no_browser, type TestBrowser } from './browser.ts'
import { newLongProject } from './long-project.ts'
import type { Proxy } from './proxy.ts'

const services = 700

export function longListTests(started: () => TestBrowser, between: () => Proxy): void {
  test.skipIf(no_browser)(`${services} services are scrolled and searched${no_browser}`, async () => {
    const browser = started()
    const { page, open, wrong, person, requests } = await browser.userAs('owner')
    const project_id = await newLongProject(browser, person.user_id, services)
    const rows = page.getByRole('table', { name: 'Services' }).getByRole('rowheader')
    await open(`/projects/${project_id}/services?sort=Name`)
    await page.getByRole('link', { name: 'one-0001', exact: true }).waitFor()
    expect(await rows.count()).toBeLessThan(120)
    await page.evaluate(() => scrollTo(0, document.documentElement.scrollHeight))
    await page.getByRole('link', { name: `one-0${services}`, exact: true }).waitFor()
    // They came in pages.
    expect(requests.filter(({ url }) => url.includes('/services?limit=') && url.includes('cursor='))).not.toEqual([])
    expect(await rows.count()).toBeLessThan(120)
    await page.getByLabel('Search services').fill('one-0123')
    await page.getByRole('link', { name: 'one-0123', exact: true }).waitFor()
    expect(await rows.count()).toBe(1)
    await page.getByRole('link', { name: 'one-0123', exact: true }).click()
    await page.getByRole('heading', { name: 'one-0123' }).waitFor()
    await page.getByRole('link', { name: 'Activity', exact: true }).click()
    await page.getByRole('heading', { name: 'Activity' }).waitFor()
    // More than one answer has: page by page back to the very first.
    await page.getByText(/event 700$/).waitFor()
    const happens = (message: string) =>
      browser.people.db.transaction((tx) => insertEvent(tx, 'long000001', 'progress', message))
    await olderEvents(page, between(), happens)
    // Those that are there already do not change, and are not asked for again.
    requests.length = 0
    await happens('event 702')
    await page.getByText(/event 702$/).waitFor()
    expect(requests.filter(({ url }) => url.includes('before='))).toEqual([])
    for (const event of [/event 701$/, /event 602$/, /event 601$/, /event 600$/, /event 1$/])
      expect([event, await page.getByText(event).count()]).toEqual([event, 1])
    await page.keyboard.press('Control+k')
    const found = page.getByRole('listbox', { name: 'Found' }).getByRole('option')
    await found.filter({ hasText: 'recent' }).first().waitFor()
    expect(await found.first().textContent()).toBe('one-0123recent')
    await page.keyboard.press('Enter')
    await page.getByRole('heading', { name: 'one-0123' }).waitFor()
    expect(wrong).toEqual([])
    await browser.people.db.query('delete from services where project_id = $1', [project_id])
  })
}

/** To the very first, while something happens at the first press. */
async function olderEvents(page: Page, proxy: Proxy, happens: (message: string) => Promise<unknown>): Promise<void> {
  const press = () => page.getByRole('button', { name: 'Older events' }).click()
  const { promise, resolve } = Promise.withResolvers<void>()
  proxy.waits = { what: /before=/, until: promise }
  await press()
  await happens('event 701')
  await page.getByText(/event 701$/).waitFor()
  proxy.waits = undefined
  resolve()
  await page.getByText(/event 101$/).waitFor()
  await press()
  await page.getByText(/event 1$/).waitFor()
  await page.getByRole('button', { name: 'Older events' }).waitFor({ state: 'detached' })
}
