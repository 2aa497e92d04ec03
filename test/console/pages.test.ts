// Every page of the console in a real browser, with something on it: it loads, breaks no policy, asks nothing of another site, keeps
// nothing secret, has no violation that axe knows, light and dark, wide and at 390 px, where it does not scroll sideways.
import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { no_browser, startBrowser, type TestBrowser } from './browser.ts'
import { newScene, pagesOf, type Scene } from './scene.ts'

let browser: TestBrowser
let scene: Scene
beforeAll(async () => {
  if (no_browser !== '') return
  browser = await startBrowser()
  scene = await newScene(browser)
})
afterAll(async () => {
  if (no_browser === '') await browser.stop()
})

/** Each page is loaded in each theme and at each width; the other theme comes by itself while a page is open, as it does at sunset. */
const loads = [
  { width: 1280, themes: ['light', 'dark'] },
  { width: 390, themes: ['dark', 'light'] },
] as const
const inks = { light: 'rgb(28, 36, 48)', dark: 'rgb(232, 234, 237)' }
const kept_names = ['howdah.theme', 'howdah.density', 'howdah.project', 'howdah.clock', 'howdah.keys']

for (const { width, themes } of loads) {
  test.skipIf(no_browser)(`every page, ${width} px, ${themes.join(' and then ')}${no_browser}`, async () => {
    const { page, wrong, open, context } = await browser.newUser('owner', { width })
    const found: string[] = []
    for (const [name, path] of pagesOf(scene)) {
      await page.emulateMedia({ colorScheme: themes[0] })
      await open(path)
      for (const theme of themes) {
        await page.emulateMedia({ colorScheme: theme })
        await page.waitForFunction(isAtRest)
        const look = `${name}, ${theme}`
        found.push(...(await violationsOf(page, { is_there: theme === themes[1] })).map((line) => `${look}: ${line}`))
        if (name !== 'not-found') expect([look, await page.getByRole('alert').allTextContents()]).toEqual([look, []])
        const shown = await page.evaluate(() => {
          const { scrollWidth, clientWidth } = document.documentElement
          return { ink: getComputedStyle(document.body).color, sideways: scrollWidth - clientWidth }
        })
        expect([look, shown]).toEqual([look, { ink: inks[theme], sideways: 0 }])
      }
    }
    const stored = await page.evaluate(() => [...Object.keys(localStorage), ...Object.keys(sessionStorage)])
    expect(stored.filter((key) => !kept_names.includes(key))).toEqual([])
    expect(found).toEqual([])
    expect(wrong).toEqual([])
    await context.close()
  })
}

/** Everything has come, and colours are no longer on their way to those of another theme. */
const isAtRest = () =>
  document.querySelector('[aria-busy=true]') === null &&
  !document.getAnimations().some((one) => one instanceof CSSTransition)

/** `is_there`: axe is in the page already, which has another theme since: of its rules one is about colours. */
async function violationsOf(page: Page, { is_there }: { is_there: boolean }): Promise<string[]> {
  const axe = new AxeBuilder({ page, ...(is_there && { axeSource: 'window.axe' }) })
  if (is_there) axe.withRules(['color-contrast'])
  // Bound to a tab of its own, axe would ask for a script that the policy forbids.
  const { violations } = await axe.setLegacyMode().analyze()
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id} ${node.html.slice(0, 160)}`))
}
