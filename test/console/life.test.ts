// What people do in the console, done by a browser: create and connect, watch, go back in time, be stopped before a slip.
import { execFile } from 'node:child_process'
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import pg from 'pg'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { nodesOf } from '#test/history/nodes.ts'
import { until } from '#test/until.ts'
import { logIn, no_browser, startBrowser, type TestBrowser, type User } from './browser.ts'

let browser: TestBrowser
let user: User
let services = ''
beforeAll(async () => {
  if (no_browser !== '') return
  browser = await startBrowser()
  const person = await browser.people.newPerson('owner')
  user = Object.assign(await browser.newVisitor(), { person })
  await logIn(user.page, browser.url, person)
  services = `/projects/${browser.howdah.project_id}/services`
})
afterAll(async () => {
  if (no_browser !== '') return
  expect(user.wrong).toEqual([])
  await browser.stop()
})

const clipboard = () => user.page.evaluate(() => navigator.clipboard.readText())

test.skipIf(no_browser)(`a service is created, READY is seen, and the copied line connects${no_browser}`, async () => {
  const { page, open } = user
  await open(services)
  await page.getByRole('link', { name: 'Create service' }).first().click()
  await page.getByLabel('Name').fill('first')
  await page.getByRole('button', { name: 'Create service' }).click()
  await page.getByRole('heading', { name: 'first' }).waitFor()
  await page.getByRole('status').getByText('READY').waitFor()
  const password = await page.getByTestId('password').textContent()
  expect(password).toMatch(/^[\w-]{32}$/)
  await page
    .getByRole('region', { name: 'Connection for psql' })
    .locator('xpath=..')
    .getByRole('button', { name: 'Copy' })
    .click()
  const line = await until(async () => (await clipboard()).startsWith('psql ') && clipboard())
  const folder = mkdtempSync(join(tmpdir(), 'console-'))
  writeFileSync(join(folder, 'howdah-ca.pem'), await (await fetch(`${browser.howdah.server.api_url}/ca.pem`)).text())
  const { stdout } = await promisify(execFile)('bash', ['-c', `${line} -Atc 'select current_user'`], { cwd: folder })
  expect(stdout.trim()).toBe('tsdbadmin')
  await page.getByRole('checkbox', { name: 'I have it' }).check()
  await page.getByRole('button', { name: 'Close for ever' }).click()
  await page.getByTestId('password').waitFor({ state: 'detached' })
  expect(await page.content()).not.toContain(password)
})

test.skipIf(no_browser)(`a change by another program is seen without a touch${no_browser}`, async () => {
  const { page, open } = user
  const { howdah } = browser
  await open(services)
  const made = await howdah.createService({ name: 'by-curl' })
  await page.getByRole('link', { name: 'by-curl' }).waitFor()
  await page
    .getByRole('row', { name: /by-curl/ })
    .getByText('READY')
    .waitFor()
  await howdah.call('POST', `${howdah.services}/${made.service_id}/stop`)
  await page
    .getByRole('row', { name: /by-curl/ })
    .getByText('PAUSED')
    .waitFor()
  await howdah.call('POST', `${howdah.services}/${made.service_id}/rename`, { name: 'renamed' })
  await page.getByRole('link', { name: 'renamed' }).waitFor()
  await howdah.call('DELETE', `${howdah.services}/${made.service_id}`)
  await page.getByRole('link', { name: 'renamed' }).waitFor({ state: 'detached' })
})

test.skipIf(no_browser)(`the time machine brings a deleted row back${no_browser}`, async () => {
  const { page, open } = user
  const { howdah } = browser
  const made = await howdah.createService({ name: 'past', cpu_millis: 'shared' })
  const at = { ...made.endpoint, user: 'tsdbadmin', database: 'tsdb', ssl: { rejectUnauthorized: false } }
  const client = new pg.Client({ ...at, password: made.initial_password })
  await client.connect()
  await client.query('create table notes (text text)')
  await until(async () => {
    const { body } = await howdah.call<{ restorable_from?: string }>(
      'GET',
      `${howdah.services}/${made.service_id}/restorable`,
    )
    return body.restorable_from
  })
  await client.query(`insert into notes values ('kept')`)
  const { rows: moments } = await client.query<{ moment: Date }>(
    `select clock_timestamp() + interval '10 ms' as moment`,
  )
  const moment = moments[0]?.moment ?? new Date(0)
  await client.query('select pg_sleep(0.1)')
  await client.query('delete from notes')
  await client.end()
  await open(`${services}/${made.service_id}/forks`)
  const field = page.getByLabel(/^Moment, /)
  await field.selectText()
  // The window moves on with every event; what is being edited stays as it is.
  const later = page.waitForResponse((response) => response.url().endsWith('/restorable'))
  await howdah.call('POST', `${howdah.services}/${made.service_id}/rename`, { name: 'the-past' })
  await (await later).finished()
  await page.getByRole('heading', { name: 'the-past' }).waitFor()
  const chosen = moment.toISOString().slice(0, -1).replace('T', ' ')
  await page.keyboard.insertText(chosen)
  expect(await field.inputValue()).toBe(chosen)
  await page.getByRole('button', { name: 'Look first' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Look' }).click()
  await page.getByRole('heading', { name: `the-past at ${chosen.slice(0, -4)}` }).waitFor()
  await page.getByRole('status').getByText('READY').waitFor()
  await page.getByLabel('Statement').fill('select text from notes')
  await page.keyboard.press('Control+Enter')
  await page.getByRole('region', { name: 'Rows' }).getByText('kept').waitFor()
  const { body: look } = await howdah.call<{ expires_at?: string }>(
    'GET',
    `${howdah.services}/${new URL(page.url()).pathname.split('/')[4]}`,
  )
  expect(Date.parse(look.expires_at ?? '') - Date.now()).toBeLessThanOrEqual(3_600_000)
  await open(`${services}/${made.service_id}/forks`)
  await page.getByLabel(/^Moment, /).fill(chosen)
  await page.getByRole('button', { name: 'Fork here' }).click()
  await page.getByRole('dialog').getByLabel('Name').fill('rescued')
  await page.getByRole('dialog').getByRole('button', { name: 'Fork' }).click()
  await page.getByRole('heading', { name: 'rescued' }).waitFor()
  await page.getByRole('status').getByText('READY').waitFor()
  const password = (await page.getByTestId('password').textContent()) ?? ''
  const port = Number(
    await page.getByText('Port', { exact: true }).locator('xpath=following-sibling::dd[1]').textContent(),
  )
  const rescued = new pg.Client({ ...at, port, password })
  await rescued.connect()
  const { rows } = await rescued.query('select text from notes')
  await rescued.end()
  expect(rows).toEqual([{ text: 'kept' }])
  await page.getByRole('checkbox', { name: 'I have it' }).check()
  await page.getByRole('button', { name: 'Close for ever' }).click()
  await open(`${services}/${made.service_id}`)
  await page.getByRole('button', { name: 'Try a restore' }).click()
  await page.getByRole('region', { name: 'Protection' }).getByText('not yet').waitFor({ state: 'detached' })
})

test.skipIf(no_browser)(`a log of 100,000 entries is searched, counted and scrolled${no_browser}`, async () => {
  const { page, open } = user
  const { howdah } = browser
  const made = await howdah.createService({ name: 'chatty', cpu_millis: 'shared' })
  const client = new pg.Client({
    ...made.endpoint,
    user: 'tsdbadmin',
    database: 'tsdb',
    password: made.initial_password,
    ssl: { rejectUnauthorized: false },
  })
  await client.connect()
  // Entries of severity LOG bring their statement along, which must not have the word itself.
  await client.query(`do $$ begin for n in 1..100000 loop
    if n % 25000 = 0 then raise warning 'nee% %', 'dle', n; else raise log 'hay %', n; end if; end loop; end $$`)
  await client.end()
  await open(`${services}/${made.service_id}/logs`)
  const list = page.getByRole('region', { name: 'Log entries, newest first' })
  await page.getByRole('img', { name: /^Entries over time: 1\d{5} entries/ }).waitFor()
  const rows = list.getByRole('button')
  await rows.first().waitFor()
  // Only those in sight exist, however far it is scrolled.
  const total = page.getByRole('status').filter({ hasText: 'older ones follow' })
  await total.getByText('500 entries').waitFor()
  await list.evaluate((element) => element.scrollTo(0, element.scrollHeight))
  await total.getByText('1000 entries').waitFor()
  expect(await rows.count()).toBeLessThan(100)
  await page.getByLabel('Texts, all of which must occur').fill('NEEDLE')
  await page.keyboard.press('Enter')
  await page.getByLabel('Texts, all of which must occur').fill('0')
  await page.getByRole('button', { name: 'WARNING 4' }).waitFor()
  await page.getByRole('status').filter({ hasText: '4 entries' }).waitFor()
  expect(await rows.allTextContents()).toEqual(
    [100_000, 75_000, 50_000, 25_000].map((n) => expect.stringContaining(`needle ${n}`)),
  )
  await page.getByLabel('Texts, all of which must occur').fill('75000')
  await page.getByRole('status').filter({ hasText: '1 entry' }).waitFor()
  await rows.first().click()
  await list.getByRole('button', { name: /^Only pid / }).click()
  await page.getByRole('button', { name: /^Without pid / }).waitFor()
  await total.getByText('500 entries').waitFor()
  await page.getByLabel('Texts, all of which must occur').fill('NEEDLE')
  await page.getByRole('status').filter({ hasText: '4 entries' }).waitFor()
  // An entry has an address, at which it is open among those of its time.
  await rows.first().click()
  await list.getByRole('button', { name: 'Copy the link' }).first().click()
  const link = await until(async () => (await clipboard()).startsWith(browser.url) && clipboard())
  await page.goto(link, { waitUntil: 'commit' })
  await list.getByRole('button', { expanded: true, name: /needle 100000/ }).waitFor()
})

test.skipIf(no_browser)(
  `a log is followed from one primary to the next, and over a primary that is killed${no_browser}`,
  async () => {
    const { page, open } = user
    const { howdah } = browser
    const made = await howdah.createService({ name: 'two', cpu_millis: 'shared', replica_count: 1 })
    const nodes = nodesOf(howdah.config.data_dir, made.service_id, made.endpoint.port)
    const write = async (words: string) => {
      const at = { ...made.endpoint, user: 'tsdbadmin', database: 'tsdb', ssl: { rejectUnauthorized: false } }
      const client = new pg.Client({ ...at, password: made.initial_password })
      await client.connect()
      await client.query(`do $$ begin raise warning '${words}'; end $$`)
      await client.end()
    }
    const list = page.getByRole('region', { name: 'Log entries, newest first' })
    const isFollowed = async (words: string) => {
      await write(words)
      await list.getByText(words, { exact: true }).waitFor()
    }
    const isOther = async (node: number) => {
      await until(() => nodes.primary() !== node, { what: 'the other node is the primary' })
      await until(() => nodes.streaming(0), { what: 'the one that was follows it' })
      await howdah.untilStatus(made.service_id, 'READY')
    }
    await open(`${services}/${made.service_id}/logs`)
    await isFollowed('of the first')
    const moved = await howdah.call('POST', `${howdah.services}/${made.service_id}/switchover`)
    expect(moved.status).toBe(202)
    await isOther(0)
    await isFollowed('of the second')
    const killed = nodes.primary()
    process.kill(nodes.postmaster(killed) ?? Number.NaN, 'SIGKILL')
    await isOther(killed)
    await isFollowed('of the third')
    // Each was seen as it came. Those that are still in sight are there once.
    const told = await list.getByText(/^of the (first|second|third)$/).allTextContents()
    expect(told).toContain('of the third')
    expect(new Set(told).size).toBe(told.length)
  },
)

test.skipIf(no_browser)(
  `a PROD service is deleted by its typed name only, when it is not protected${no_browser}`,
  async () => {
    const { page, open } = user
    const made = await browser.howdah.createService({ name: 'precious', environment_tag: 'PROD', cpu_millis: 'shared' })
    await open(`${services}/${made.service_id}/settings`)
    const remove = page.getByRole('button', { name: 'Delete', exact: true })
    expect(await remove.getAttribute('aria-disabled')).toBe('true')
    await page.getByText('Not protected', { exact: true }).click()
    await page.locator('button:not([aria-disabled="true"])', { hasText: /^Delete$/ }).click()
    const dialog = page.getByRole('dialog')
    await dialog.getByRole('button', { name: 'Delete it' }).click({ force: true })
    expect((await browser.howdah.call('GET', `${browser.howdah.services}/${made.service_id}`)).body.status).toBe(
      'READY',
    )
    await dialog.getByLabel('Type precious to confirm').fill('precious')
    await dialog.getByRole('button', { name: 'Delete it' }).click()
    await browser.howdah.untilStatus(made.service_id, 'removed')
  },
)

test.skipIf(no_browser)(`a viewer sees every act, and why it is not possible${no_browser}`, async () => {
  const made = await browser.howdah.createService({ name: 'seen', cpu_millis: 'shared' })
  const viewer = await browser.newUser('viewer')
  await viewer.open(`${services}/${made.service_id}`)
  const stop = viewer.page.getByRole('button', { name: 'Stop' })
  expect(await stop.getAttribute('aria-disabled')).toBe('true')
  await stop.focus()
  await viewer.page.getByRole('tooltip').getByText('your role in this project is viewer').waitFor()
  await stop.click({ force: true })
  expect((await browser.howdah.call('GET', `${browser.howdah.services}/${made.service_id}`)).body.status).toBe('READY')
  expect(viewer.wrong).toEqual([])
  await viewer.context.close()
})

test.skipIf(no_browser)(`the keyboard alone finds a service and acts on it${no_browser}`, async () => {
  const { page, open } = user
  await open(services)
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Find and act' }).waitFor()
  await page.keyboard.type('seen')
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'seen' }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox', { name: 'Find and act' }).waitFor()
  await page.keyboard.type('stop')
  await page.keyboard.press('Enter')
  await page.getByRole('status').getByText('PAUSED').waitFor()
})

test.skipIf(no_browser)(`a login that ends elsewhere is told over the page, which stays${no_browser}`, async () => {
  const other = await browser.newUser('developer')
  await other.open(`${services}/new`)
  await other.page.getByLabel('Name').fill('half typed')
  await browser.people.db.query('delete from oauth_records where user_id = $1', [Number(other.person.user_id)])
  await other.page.getByRole('dialog').getByText('Your login has ended').waitFor()
  expect(await other.page.getByLabel('Name').inputValue()).toBe('half typed')
  await other.context.close()
})
