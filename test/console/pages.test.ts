// Every page, once loaded, in both themes, on a wide screen, on a phone, and at four times its size: nothing for axe to find, no page wider
// than its screen, no error and no violation of the policy, no request to elsewhere, and nothing in the storage but what it may hold. In each
// run axe is given every second page in one of its looks, and every page in all of them with `npm test -- --all`.
import { AxeBuilder } from '@axe-core/playwright'
import type { Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseBackupTarget } from '#server/backup-target.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { partsOf } from '#test/sample.ts'
import { no_browser, startBrowser, type TestBrowser } from './browser.ts'
import { newScene, pagesOf, type Scene } from './scene.ts'

const nowhere = newDataDir()
/** It has no repository, which is a problem that the pages show. */
const backup_to = parseBackupTarget(`file://${nowhere}/repository`) ?? expect.fail()
let browser: TestBrowser
let scene: Scene
beforeAll(async () => {
  if (no_browser !== '') return
  browser = await startBrowser({ config: { backup_to, backup_lag: 86_400 } })
  scene = await newScene(browser)
})
afterAll(async () => {
  if (no_browser === '') await browser.stop()
  await removeDataDir(nowhere)
})

const looks = [
  { width: 1280, theme: 'light' },
  { width: 1280, theme: 'dark' },
  { width: 390, theme: 'dark' },
  { width: 390, theme: 'light' },
] as const
/** What a window of 1280 × 800 is at 400 %: each pixel of the page is four by four of the screen. */
const zoomed = { width: 320, height: 200, deviceScaleFactor: 4, mobile: false }
const height = 800
/** Looked at with every frame, a page would draw one frame after the other. */
const often = { polling: 50 }
const kept_names = ['howdah.theme', 'howdah.density', 'howdah.project', 'howdah.clock', 'howdah.keys']

/** A page's in its turn: those of every second page differ from each other, and between them is one without. */
function looksOf(at: number) {
  const turns = looks.flatMap((look) => [[look], []])
  const turned = [...turns.slice(at % turns.length), ...turns.slice(0, at % turns.length)]
  return partsOf(turned, turns.length).flatMap(({ some }) => some.flat())
}

/** Axe takes a second for a page, on a machine with nothing else to do. */
const timeout = 900_000

test.skipIf(no_browser)(`every page in every look${no_browser}`, { timeout }, async () => {
  const { page, wrong, open, context } = await browser.newUser('owner')
  const devtools = await context.newCDPSession(page)
  const found: string[] = []
  for (const [at, [name, path]] of pagesOf(scene).entries()) {
    await open(path)
    await page.waitForFunction(isAtRest, undefined, often)
    if (name !== 'not-found') expect([name, await page.getByRole('alert').allTextContents()]).toEqual([name, []])
    for (const { width, theme } of looksOf(at)) {
      await page.setViewportSize({ width, height })
      await page.emulateMedia({ colorScheme: theme })
      await page.waitForFunction(isAtRest, undefined, often)
      found.push(...(await violationsOf(page)).map((text) => `${name}, ${theme}, ${width} px: ${text}`))
      if (await isTooWide(page)) found.push(`${name}: wider than ${width} px`)
    }
    await devtools.send('Emulation.setDeviceMetricsOverride', zoomed)
    if (await isTooWide(page)) found.push(`${name}: wider than the screen at 400 %`)
    await devtools.send('Emulation.clearDeviceMetricsOverride')
    await page.setViewportSize({ width: 1280, height })
  }
  const stored = await page.evaluate(() => [...Object.keys(localStorage), ...Object.keys(sessionStorage)])
  expect(stored.filter((key) => !kept_names.includes(key))).toEqual([])
  expect(found).toEqual([])
  expect(wrong).toEqual([])
  await context.close()
})

test.skipIf(no_browser)(`why a backup is behind is shown with the service${no_browser}`, async () => {
  const { page, open } = await browser.userAs('viewer')
  await open(`/projects/${scene.project_id}/services/${scene.service_id}`)
  const card = page.getByRole('region', { name: 'Protection' })
  await card.getByText(/^\d+ s: there is no repository for this installation yet; make it with howdah/).waitFor()
})

async function violationsOf(page: Page): Promise<string[]> {
  // Bound to a tab of its own, axe would ask for a script that the policy forbids.
  const { violations } = await new AxeBuilder({ page }).setLegacyMode().analyze()
  return violations.flatMap(({ id, nodes }) => nodes.map((node) => `${id} ${node.html.slice(0, 160)}`))
}

/** Everything has come, and colours are no longer on their way to those of another theme. */
const isAtRest = () =>
  document.querySelector('[aria-busy=true]') === null &&
  !document.getAnimations().some((one) => one instanceof CSSTransition)

/** What follows the width of the window, as a chart does, does so a moment later. */
async function isTooWide(page: Page): Promise<boolean> {
  const fits = () => document.documentElement.scrollWidth <= document.documentElement.clientWidth
  const outcome = page.waitForFunction(fits, undefined, { ...often, timeout: 10_000 })
  return await outcome.then(
    () => false,
    () => true,
  )
}
