// Menus and tips, by pointer and by keys: their code comes later than the page, and they behave as those of any program do.
import type { JSHandle, Locator } from 'playwright-core'
import { expect, test } from 'vitest'
import { until } from '#test/until.ts'
import { no_browser, type TestBrowser } from './browser.ts'

export function menuTests(started: () => TestBrowser): void {
  test.skipIf(no_browser)(`a menu opens by pointer and by keys, and the focus knows its way${no_browser}`, async () => {
    const browser = started()
    const { page, open, wrong } = await browser.userAs('owner')
    await open(browser.howdah.services)
    const account = page.getByRole('button', { name: 'Account', exact: true })
    const items = page.getByRole('menuitem')
    const closed = () => items.first().waitFor({ state: 'detached' })
    const hasFocus = (one: JSHandle) => until(async () => await one.evaluate((it) => it === document.activeElement))
    const isFocused = async (one: Locator) => hasFocus(await one.evaluateHandle((element) => element))
    await account.click()
    await items.first().waitFor()
    expect(await account.getAttribute('aria-controls')).toBe(await page.getByRole('menu').getAttribute('id'))
    await account.click()
    await closed()
    for (const [key, item] of [
      ['Enter', items.first()],
      ['ArrowDown', items.first()],
      ['ArrowUp', items.last()],
    ] as const) {
      await account.press(key)
      await isFocused(item)
      await page.keyboard.press('Escape')
      await closed()
      await isFocused(account)
    }
    // On from the button, as if its menu were not there, and back to it.
    await account.press('Tab')
    const next = await page.evaluateHandle(() => document.activeElement)
    await account.press('Enter')
    await isFocused(items.first())
    await page.keyboard.press('Tab')
    await closed()
    await hasFocus(next)
    await account.press('Enter')
    await isFocused(items.first())
    await page.keyboard.press('Shift+Tab')
    await closed()
    await isFocused(account)
    expect(wrong).toEqual([])
  })

  test.skipIf(no_browser)(`a tip has the words that hold, as long as they are asked for${no_browser}`, async () => {
    const browser = started()
    const { service_id } = await browser.howdah.createService({ name: 'tipped' })
    const { page, open, wrong } = await browser.userAs('owner')
    await open(browser.howdah.services)
    const theme = page.getByRole('button', { name: /^Theme/ })
    const tip = page.getByRole('tooltip')
    const shown = async () => tip.getByText((await theme.getAttribute('aria-label')) ?? '', { exact: true }).waitFor()
    const hidden = () => tip.waitFor({ state: 'detached' })
    await theme.hover()
    await shown()
    await page.keyboard.press('Escape')
    await hidden()
    // By keys, and with other words meanwhile; in the end the theme is what it was.
    await page.getByRole('button', { name: 'Account', exact: true }).press('Shift+Tab')
    await shown()
    await theme.evaluate((element: HTMLElement) => element.click())
    await shown()
    for (const key of ['Enter', 'Enter']) {
      await page.keyboard.press('Shift+Tab')
      await hidden()
      await page.keyboard.press('Tab')
      await shown()
      await page.keyboard.press(key)
      await hidden()
    }
    await page.mouse.move(0, 0)
    await theme.hover()
    await shown()
    await page.mouse.move(-9, -9)
    await hidden()
    await page.getByRole('link', { name: 'tipped', exact: true }).click()
    const rename = page.getByRole('button', { name: 'Rename this service' })
    await rename.focus()
    await page.keyboard.press('Tab')
    await page.keyboard.press('Shift+Tab')
    await tip.waitFor()
    await page.goBack()
    await page.getByRole('heading', { name: 'Services', level: 1 }).waitFor()
    await hidden()
    expect(wrong).toEqual([])
    await browser.howdah.call('DELETE', `${browser.howdah.services}/${service_id}`)
  })
}
