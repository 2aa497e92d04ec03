// Names, environments and roles are on screen before the server has answered, and are what they were when it refuses. A name is edited
// where it stands, with the keyboard alone.
import { beforeAll, expect, test } from 'vitest'
import { until } from '#test/until.ts'
import { no_browser, type TestBrowser, type User } from './browser.ts'
import { handsOf } from './hands.ts'
import type { Proxy } from './proxy.ts'

let browser: TestBrowser
let proxy: Proxy
let user: User
let service_id = ''

const { press, fill, choose, fromMenu } = handsOf(() => user)
const heading = (name: string) => user.page.getByRole('heading', { name, exact: true, level: 1 }).waitFor()
const field = (name: string) => user.page.getByLabel(`Name of ${name}`, { exact: true })
const isFocused = (name: string) =>
  until(async () => await field(name).evaluate((input) => input === document.activeElement))
const environment = (value: string) => user.page.locator('label:has(input:checked)', { hasText: value }).waitFor()
const refused = () => user.page.getByRole('alert').getByText('this needs at least').waitFor()
const member = () => `/projects/${browser.howdah.project_id}/members/${user.person.user_id}`

const rename = async (name: string) => {
  await browser.howdah.call('POST', `${browser.howdah.services}/${service_id}/rename`, { name })
}

/** The page does not know of it yet. */
async function becomes(role: string): Promise<void> {
  expect((await browser.howdah.call('POST', `${member()}/setRole`, { role })).status).toBe(200)
}

/** Chosen while no change reaches the server, which then refuses it. */
async function refusedAfter(choice: () => Promise<void>): Promise<void> {
  await unanswered(async () => {
    await choice()
    await becomes('viewer')
  })
  await refused()
}

/** While no change reaches the server. */
async function unanswered(work: () => Promise<void>): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>()
  proxy.waits = { what: /^POST /, until: promise }
  try {
    await work()
  } finally {
    proxy.waits = undefined
    resolve()
  }
}

export function shownAtOnceTests(started: () => TestBrowser, between: () => Proxy): void {
  beforeAll(async () => {
    if (no_browser !== '') return
    ;[browser, proxy] = [started(), between()]
    user = await browser.userAs('owner')
    service_id = (await browser.howdah.createService({ name: 'ink' })).service_id
  })

  test.skipIf(no_browser)(`a name: edited in its heading, and left as it was by Escape${no_browser}`, async () => {
    const { page } = user
    await user.open(`/projects/${browser.howdah.project_id}/services/${service_id}/settings`)
    await page.getByRole('button', { name: 'Rename this service' }).focus()
    await page.keyboard.press('Enter')
    await isFocused('ink')
    await page.keyboard.type('pen')
    // What is being typed stays when others change the name meanwhile.
    await rename('blot')
    await field('blot').waitFor()
    expect(await field('blot').inputValue()).toBe('pen')
    await page.keyboard.press('Escape')
    await field('blot').waitFor({ state: 'detached' })
    await heading('blot')
    await fromMenu('More acts', 'Rename')
    await isFocused('blot')
    await page.keyboard.type('quill')
    await unanswered(async () => {
      await page.keyboard.press('Enter')
      await heading('quill')
    })
    await until(async () => {
      const { body } = await browser.howdah.call('GET', `${browser.howdah.services}/${service_id}`)
      return body.name === 'quill'
    })
    await user.open(`/projects/${browser.howdah.project_id}/services`)
    await fromMenu('Acts on quill', 'Rename')
    await fill('Name of quill', 'feather')
    await unanswered(async () => {
      await page.keyboard.press('Enter')
      await page.getByRole('link', { name: 'feather', exact: true }).waitFor()
    })
  })

  test.skipIf(no_browser)(`what is refused is as it was, with the server’s word${no_browser}`, async () => {
    await user.open(`/projects/${browser.howdah.project_id}/services/${service_id}/settings`)
    await environment('DEV')
    await refusedAfter(async () => {
      await choose('PROD')
      await environment('PROD')
      // The server's next word on the service is of before.
      await rename('plume')
      await heading('plume')
      expect(await user.page.locator('label:has(input:checked)', { hasText: 'PROD' }).isVisible()).toBe(true)
    })
    await environment('DEV')
    await heading('plume')
    await becomes('owner')
    await user.open(`/projects/${browser.howdah.project_id}/services/${service_id}/settings`)
    await press('Rename this service')
    await fill('Name of plume', 'mine')
    await refusedAfter(async () => {
      await press('Save')
      await heading('mine')
    })
    await heading('plume')
    expect(await field('plume').inputValue()).toBe('mine')
    await becomes('owner')
    await press('Save')
    await heading('mine')
  })

  test.skipIf(no_browser)(
    `what is wrong with a member stands at its field, and the rest names none${no_browser}`,
    async () => {
      await user.open(`/projects/${browser.howdah.project_id}/services/${service_id}/settings`)
      const card = user.page.getByRole('region', { name: 'Snapshots' })
      const apply = card.getByRole('button', { name: 'Apply' })
      await fill('Every', '90s')
      expect(await apply.getAttribute('aria-description')).toBe('a duration is a number with m, h, d or w, such as 6h')
      await fill('Every', '31d')
      await fill('Kept for', '40d')
      await apply.click()
      await card.getByText('must be from 1m to 30d', { exact: true }).waitFor()
      await card.getByRole('alert').getByText('the request is not valid', { exact: true }).waitFor()
    },
  )

  test.skipIf(no_browser)(`a role that is refused is the old one again${no_browser}`, async () => {
    const { email } = await browser.people.newPerson('viewer')
    await user.open(`/projects/${browser.howdah.project_id}/members`)
    const other = user.page.getByRole('row', { name: new RegExp(email) })
    await other.getByRole('combobox').waitFor()
    await unanswered(async () => {
      await other.getByRole('combobox').selectOption('admin')
      expect(await other.getByRole('combobox').inputValue()).toBe('admin')
      await becomes('developer')
    })
    await refused()
    // Now that the page knows, there is no choice any more.
    await other.locator('span[title]', { hasText: 'viewer' }).waitFor()
    expect(user.wrong).toEqual([])
    await becomes('owner')
  })

  test.skipIf(no_browser)(`the way back leaves a dialog, and nothing comes of it${no_browser}`, async () => {
    const { howdah } = browser
    await user.open(`/projects/${howdah.project_id}/services`)
    await user.page.getByRole('link', { name: 'mine', exact: true }).click()
    await heading('mine')
    await press('Fork')
    await user.page.getByRole('dialog').waitFor()
    await user.page.goBack()
    await heading('Services')
    await user.page.getByRole('dialog').waitFor({ state: 'detached' })
    expect((await howdah.call<object[]>('GET', `${howdah.services}?name=mine-fork`)).body).toEqual([])
  })
}
