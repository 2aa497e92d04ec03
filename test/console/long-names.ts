// The longest name that a service may have: it takes several lines, and nothing beside it gives way.
import { expect, test } from 'vitest'
import { no_browser, type TestBrowser } from './browser.ts'

const name = `${'a name that goes on '.repeat(6)}and on!!`

export function longNameTests(started: () => TestBrowser): void {
  test.skipIf(no_browser)(`a name of 128 characters pushes nothing out of sight${no_browser}`, async () => {
    const browser = started()
    const { howdah } = browser
    const { service_id } = await howdah.createService({ name })
    const { page, open, wrong } = await browser.userAs('owner')
    const width = page.viewportSize()?.width ?? 0
    for (const [path, column] of [
      [howdah.services, 'Status'],
      [`/projects/${howdah.project_id}/activity`, 'When'],
    ] as const) {
      await open(path)
      const { x = width } = (await page.getByRole('columnheader', { name: column }).boundingBox()) ?? {}
      expect([column, x < width]).toEqual([column, true])
    }
    await open(`${howdah.services}/${service_id}`)
    await page.getByRole('heading', { name, level: 1 }).waitFor()
    const { height } = (await page.getByRole('button', { name: 'Find and act' }).boundingBox()) ?? {}
    expect(height).toBeLessThan(48)
    const project = page.getByRole('navigation', { name: 'Where this is' }).getByRole('link').first()
    expect(await project.evaluate((link) => link.scrollWidth <= link.clientWidth)).toBe(true)
    expect(wrong).toEqual([])
    await howdah.call('DELETE', `${howdah.services}/${service_id}`)
  })
}
