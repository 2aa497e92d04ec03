// Pictures of every page of the console, light and dark and at 390 px, into the folder that is named:
//   node test/console/screenshots.ts /tmp/console-shots
// For people to look at, and for the README.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { startBrowser } from './browser.ts'
import { newScene, pagesOf } from './scene.ts'

const looks = [
  { name: 'light', width: 1280, theme: 'light' },
  { name: 'dark', width: 1280, theme: 'dark' },
  { name: 'phone', width: 390, theme: 'light' },
] as const
const settled_ms = 700

/** What opens over a page. */
const panels: [string, (page: Page) => Promise<unknown>][] = [
  ['palette', (page) => page.keyboard.press('Control+k')],
  ['keys', (page) => page.keyboard.press('?')],
  ['fork', (page) => page.getByRole('button', { name: 'Fork', exact: true }).click()],
  ['stop', (page) => page.getByRole('button', { name: 'Stop', exact: true }).click()],
  ['menu', (page) => page.getByRole('button', { name: 'More acts' }).click()],
]

const [folder = '/tmp/console-shots', only = ''] = process.argv.slice(2)
mkdirSync(folder, { recursive: true })
const browser = await startBrowser()
try {
  const scene = await newScene(browser)
  // Some minutes of metrics make a picture of them.
  await new Promise((resolve) => setTimeout(resolve, Number(process.env['METRICS_MS'] ?? 0)))
  for (const look of looks) {
    const user = await browser.newUser('owner', look)
    const shoot = (name: string) =>
      user.page.screenshot({ path: join(folder, `${name}-${look.name}.png`), fullPage: true })
    for (const [name, path] of pagesOf(scene).filter(([name]) => name.includes(only))) {
      await user.open(path)
      if (path.startsWith('/projects/')) await user.page.getByRole('status', { name: 'live', exact: true }).waitFor()
      await user.page.waitForTimeout(settled_ms)
      await shoot(name)
    }
    if (only === '')
      for (const [name, open] of panels) {
        await user.open(`/projects/${scene.project_id}/services/${scene.service_id}`)
        await open(user.page)
        await user.page.waitForTimeout(settled_ms)
        await user.page.screenshot({ path: join(folder, `${name}-${look.name}.png`) })
      }
    for (const line of user.wrong) console.log(look.name, line)
    await user.context.close()
  }
} finally {
  await browser.stop()
}
