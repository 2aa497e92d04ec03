// A project with more services than a browser likes to draw: of the rows only those in sight exist, and all of them are found, sorted and reached.
// And where one has been, the palette offers first.
import { expect, test } from 'vitest'
import { no_browser, type TestBrowser } from './browser.ts'
import { newLongProject } from './long-project.ts'

const services = 700

export function longListTests(started: () => TestBrowser): void {
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
    for (const oldest of [/event 101$/, /event 1$/]) {
      await page.getByRole('button', { name: 'Older events' }).click()
      await page.getByText(oldest).waitFor()
    }
    await page.getByRole('button', { name: 'Older events' }).waitFor({ state: 'detached' })
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
