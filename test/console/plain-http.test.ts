// The console at an address without TLS that is not this machine's own name, as on a first try in a network at home: a browser gives such a
// page no locks, no clipboard and no random UUIDs, and it works all the same.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { logIn, no_browser, startBrowser, type TestBrowser, without_databases } from './browser.ts'
import { type Proxy, startProxy } from './proxy.ts'

/** Reaches this machine, and is no loopback to a browser. */
const address = '0.0.0.0'

let proxy: Proxy
let browser: TestBrowser
beforeAll(async () => {
  if (no_browser !== '') return
  proxy = await startProxy()
  const public_url = `http://${address}:${new URL(proxy.url).port}`
  browser = await startBrowser({ config: { ...without_databases, public_url } })
  proxy.to = browser.howdah.server.url
})
afterAll(async () => {
  if (no_browser !== '') return
  await browser.stop()
  await proxy.close()
})

test.skipIf(no_browser)(`a page that came without TLS makes, follows and copies${no_browser}`, async () => {
  const { howdah, url } = browser
  const { page, wrong } = await browser.newVisitor()
  await logIn(page, url, await browser.people.newPerson('owner'))
  expect(await page.evaluate(() => isSecureContext)).toBe(false)
  await page.goto(`${url}/projects/${howdah.project_id}/services/new`, { waitUntil: 'commit' })
  await page.getByLabel('Name', { exact: true }).fill('plain')
  await page.getByRole('button', { name: 'Create service', exact: true }).click()
  await page.getByRole('heading', { name: 'plain', level: 1 }).waitFor()
  await page.getByRole('status', { name: 'live', exact: true }).waitFor()
  await page.getByRole('button', { name: 'Copy the password' }).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  // Pasted where it can be read.
  const password = (await page.getByTestId('password').textContent()) ?? ''
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Find and act' }).waitFor()
  await page.keyboard.press('Control+v')
  expect(await page.getByRole('combobox', { name: 'Find and act' }).inputValue()).toBe(password)
  // The browser says that it does without a header there.
  expect(wrong.filter((line) => !line.includes('Cross-Origin-Opener-Policy'))).toEqual([])
})
