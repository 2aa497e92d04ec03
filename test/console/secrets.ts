// Secrets that a page shows once: a password after its form was left, beside what was typed, and a token that the way back does not take.
import { beforeAll, expect, test } from 'vitest'
import { no_browser, type TestBrowser, type User } from './browser.ts'
import { handsOf } from './hands.ts'
import type { Proxy } from './proxy.ts'

let browser: TestBrowser
let proxy: Proxy
let user: User
const { press, answer } = handsOf(() => user)

const services = () => `/projects/${browser.howdah.project_id}/services`

export function secretTests(started: () => TestBrowser, between: () => Proxy): void {
  beforeAll(async () => {
    if (no_browser !== '') return
    ;[browser, proxy] = [started(), between()]
    user = await browser.userAs('owner')
  })

  test.skipIf(no_browser)(`a dialog keeps what was typed, and its place for a password${no_browser}`, async () => {
    const { page } = user
    const { service_id } = await browser.howdah.createService({ name: 'held' })
    await user.open(`${services()}/${service_id}`)
    await press('Fork')
    const dialog = page.getByRole('dialog')
    await dialog.getByLabel('Name', { exact: true }).fill('held-twin')
    await page.mouse.click(4, 400)
    expect(await dialog.getByLabel('Name', { exact: true }).inputValue()).toBe('held-twin')
    const { promise, resolve } = Promise.withResolvers<void>()
    proxy.waits = { what: /^POST .*forkService$/, until: promise }
    try {
      await answer('Fork')
      await dialog.locator('[aria-busy=true]').waitFor()
      await page.keyboard.press('Escape')
      await page.mouse.click(4, 400)
    } finally {
      proxy.waits = undefined
      resolve()
    }
    await page.getByRole('heading', { name: 'held-twin', level: 1 }).waitFor()
    await page.getByTestId('password').waitFor()
    await page.getByRole('checkbox', { name: 'I have it' }).check()
    await press('Close for ever')
  })

  test.skipIf(no_browser)(
    `a password is shown also when its form was left before the answer${no_browser}`,
    async () => {
      const { page } = user
      await user.open(`${services()}/new`)
      await page.getByLabel('Name', { exact: true }).fill('left-early')
      const { promise, resolve } = Promise.withResolvers<void>()
      proxy.waits = { what: /^POST .*\/services$/, until: promise }
      try {
        await press('Create service')
        await page.getByRole('link', { name: 'Cancel', exact: true }).click()
        await page.getByRole('heading', { name: 'Services', level: 1 }).waitFor()
      } finally {
        proxy.waits = undefined
        resolve()
      }
      await page.getByRole('link', { name: 'left-early', exact: true }).click()
      await page.getByRole('link', { name: 'Connect', exact: true }).first().click()
      await page.getByTestId('password').waitFor()
      await page.getByRole('checkbox', { name: 'I have it' }).check()
      await press('Close for ever')
    },
  )

  test.skipIf(no_browser)(`the way back does not take a token that is not kept${no_browser}`, async () => {
    const { page } = user
    await user.open(services())
    await page.getByRole('link', { name: 'Tokens', exact: true }).click()
    await press('Create a token')
    await page.getByLabel('What it is for').fill('left-behind')
    await answer('Create')
    const token = await page.getByTestId('token').textContent()
    const asked = page.waitForEvent('dialog').then(async (question) => {
      await question.dismiss()
      return question.message()
    })
    await page.evaluate(() => history.back())
    expect(await asked).toBe('The token is not shown again. Leave this page?')
    expect(await page.getByTestId('token').textContent()).toBe(token)
    await page.getByRole('checkbox', { name: 'I have it' }).check()
    await page.goBack()
    await page.getByRole('heading', { name: 'Services', level: 1 }).waitFor()
  })
}
