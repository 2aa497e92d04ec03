// Every page of the console in a real browser, with something on it: it loads, breaks no policy, asks nothing of another site, keeps
// nothing secret, has no violation that axe knows, light and dark, wide and at 390 px, where it does not scroll sideways.
import { AxeBuilder } from '@axe-core/playwright'
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

const looks = [
  { width: 1280, theme: 'light' },
  { width: 1280, theme: 'dark' },
  { width: 390, theme: 'light' },
  { width: 390, theme: 'dark' },
] as const
const kept_names = ['howdah.theme', 'howdah.density', 'howdah.project', 'howdah.clock', 'howdah.keys']

for (const look of looks) {
  test.skipIf(no_browser)(`every page, ${look.theme}, ${look.width} px${no_browser}`, async () => {
    const { page, wrong, open, context } = await browser.newUser('owner', look)
    const found: string[] = []
    for (const [name, path] of pagesOf(scene)) {
      await open(path)
      await page.waitForFunction(() => document.querySelector('[aria-busy=true]') === null)
      // Bound to a tab of its own, axe would ask for a script that the policy forbids.
      const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze()
      found.push(
        ...violations.flatMap(({ id, nodes }) => nodes.map((node) => `${name}: ${id} ${node.html.slice(0, 160)}`)),
      )
      if (name !== 'not-found') expect([name, await page.getByRole('alert').allTextContents()]).toEqual([name, []])
      const sideways = await page.evaluate(
        () => document.documentElement.scrollWidth - document.documentElement.clientWidth,
      )
      expect([name, sideways]).toEqual([name, 0])
    }
    const stored = await page.evaluate(() => [...Object.keys(localStorage), ...Object.keys(sessionStorage)])
    expect(stored.filter((key) => !kept_names.includes(key))).toEqual([])
    expect(found).toEqual([])
    expect(wrong).toEqual([])
    await context.close()
  })
}
