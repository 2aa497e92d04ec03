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
    await account.click()
    await closed()
    for (const [key, item] of [
      ['Enter', items.first()],
      ['ArrowDown', items.first()],
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

  test.skipIf(no_browser)(`a tip is under a pointer that rests${no_browser}`, async () => {
    const browser = started()
    const { page, open, wrong } = await browser.userAs('owner')
    await open(browser.howdah.services)
    const theme = page.getByRole('button', { name: /^Theme/ })
    await theme.hover()
    const tip = page.getByRole('tooltip')
    await tip.getByText((await theme.getAttribute('aria-label')) ?? '').waitFor()
    await page.keyboard.press('Escape')
    await tip.waitFor({ state: 'detached' })
    expect(wrong).toEqual([])
  })
}
