// Pictures of every page of the console and of what opens over it, light and dark, at 390 px and at 2560 px, into the folder that is named:
//   node test/console/screenshots.ts /tmp/console-shots [only those whose name has this in it]
// For people to look at, and for the README. METRICS_MS: how long the services are at work before, which makes better pictures.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { startBrowser, type Visitor } from './browser.ts'
import { newScene, pagesOf, type Scene, work } from './scene.ts'

const looks = [
  { name: 'light', width: 1280, theme: 'light' },
  { name: 'dark', width: 1280, theme: 'dark' },
  { name: 'phone', width: 390, theme: 'light' },
  { name: 'wide', width: 2560, theme: 'light' },
] as const
const settled_ms = 400

type Shot = { name: string; path: string; act?: (page: Page) => Promise<unknown> }

const press = (name: string | RegExp) => (page: Page) => page.getByRole('button', { name, exact: true }).first().click()
const fromMenu = (trigger: string, item: string) => async (page: Page) => {
  await press(trigger)(page)
  await page.getByRole('menuitem', { name: item, exact: true }).click()
}

/** What opens over a page. */
function panelsOf({ project_id, service_id, vpc_id }: Scene): Shot[] {
  const project = `/projects/${project_id}`
  const service = `${project}/services/${service_id}`
  const over = (path: string, shots: Record<string, Shot['act']>) =>
    Object.entries(shots).map(([name, act]) => ({ name, path, ...(act && { act }) }))
  return [
    ...over(service, {
      palette: (page) => page.keyboard.press('Control+k'),
      keys: (page) => page.keyboard.press('?'),
      fork: press('Fork'),
      stop: press('Stop'),
      menu: press('More acts'),
      rename: fromMenu('More acts', 'Rename'),
      resize: fromMenu('More acts', 'Resize'),
      password: fromMenu('More acts', 'Set the password'),
      'account-menu': press('Account'),
    }),
    ...over(`${project}/services`, {
      bulk: (page) => page.getByRole('checkbox', { name: 'Choose shop', exact: true }).check(),
      filtered: (page) => page.getByLabel('Search services').fill('nothing like it'),
      delete: fromMenu('Acts on search', 'Delete'),
      'rename-row': fromMenu('Acts on search', 'Rename'),
    }),
    ...over(`${service}/forks`, {
      look: press('Look first'),
      rewind: press('Rewind here…'),
      zoom: press('Zoom in'),
    }),
    ...over(`${service}/replicas`, { 'create-set': press('Create a set'), 'set-menu': press('Acts on reports') }),
    ...over(`${service}/logs?q=${encodeURIComponent('invoices\nexist')}`, {
      'log-entry': (page) =>
        page
          .getByRole('region', { name: /^Log entries/ })
          .getByRole('button')
          .first()
          .click(),
    }),
    ...over(`${service}/sql`, {
      'sql-rows': async (page) => {
        await page.getByLabel('Statement').fill('select * from orders order by id desc limit 8')
        await page.keyboard.press('Control+Enter')
        await page.getByRole('region', { name: 'Rows' }).waitFor()
      },
      'sql-refused': async (page) => {
        await page.getByLabel('Statement').fill('delete from orders')
        await page.keyboard.press('Control+Enter')
        await page.getByRole('alert').waitFor()
      },
    }),
    ...over(`${service}/connect?via=transaction&as=prisma`, { 'connect-prisma': undefined }),
    ...over(`${service}/metrics`, { 'metrics-table': press('Table') }),
    ...over(`${project}/networks`, { 'create-vpc': press('Create VPC') }),
    ...over(`${project}/networks/${vpc_id}`, { peer: press('Peer with another VPC') }),
    ...over(`${project}/members`, { 'add-member': press('Add a member'), 'login-link': press('Login link') }),
    ...over(`${project}/tokens`, { 'create-token': press('Create a token'), 'revoke-token': press('Revoke ci') }),
    ...over(`${project}/settings`, { 'delete-project': press('Delete') }),
  ]
}

/** Of a project in which nothing is yet; the last makes something. */
function firstStepsOf(project_id: string, look: string): Shot[] {
  const project = `/projects/${project_id}`
  const make = async (page: Page) => {
    await page.getByLabel('Name', { exact: true }).fill(`orders-${look}`)
    await page.getByRole('button', { name: 'Create service', exact: true }).click()
    await page.getByTestId('password').waitFor()
    await page.getByRole('status').getByText('READY').waitFor()
  }
  return [
    ...['services', 'networks', 'activity', 'members', 'tokens', 'audit'].map((page) => ({
      name: `empty-${page}`,
      path: `${project}/${page}`,
    })),
    { name: 'made', path: `${project}/services/new`, act: make },
  ]
}

/** Before a login. */
function doorsOf(password_link: string, origin: string): Shot[] {
  const guess = async (page: Page) => {
    await page.getByLabel('E-mail').fill('ada@example.com')
    await page.getByLabel('Password').fill('a guess')
    await page.getByRole('button', { name: 'Log in' }).click()
    await page.getByRole('alert').waitFor()
  }
  return [
    { name: 'login', path: '/' },
    { name: 'login-refused', path: '/', act: guess },
    { name: 'set-password', path: password_link.slice(origin.length) },
    { name: 'device', path: '/oauth/device' },
    { name: 'docs', path: '/docs' },
    { name: 'docs-chapter', path: '/docs/forks-and-recovery' },
    { name: 'no-page', path: '/docs/nothing-here' },
  ]
}

const [folder = '/tmp/console-shots', only = ''] = process.argv.slice(2)
mkdirSync(folder, { recursive: true })

async function take({ page, open }: Visitor, shots: readonly Shot[], look: string): Promise<void> {
  for (const { name, path, act } of shots.filter((shot) => `${shot.name}-${look}`.includes(only))) {
    await open(path)
    if (path.startsWith('/projects/')) await page.getByRole('status', { name: 'live', exact: true }).waitFor()
    await page.waitForFunction(() => document.querySelector('[aria-busy=true]') === null)
    await act?.(page)
    await page.waitForTimeout(settled_ms)
    // What lies over a page is shown with the part of the page that is in sight.
    await page.screenshot({ path: join(folder, `${name}-${look}.png`), fullPage: act === undefined })
  }
}

/** Its id. */
async function newProject({ page, open }: Visitor, look: string): Promise<string> {
  await open('/projects')
  await press('Create project')(page)
  await page.getByLabel('Name', { exact: true }).fill(`fresh ${look}`)
  await page.getByRole('dialog').getByRole('button', { name: 'Create', exact: true }).click()
  await page.waitForURL('**/services')
  return new URL(page.url()).pathname.split('/')[2] ?? ''
}

const browser = await startBrowser()
try {
  const scene = await newScene(browser)
  // More of a project than the tests need.
  for (const [name, environment_tag] of [
    ['billing', 'PROD'],
    ['search', 'DEV'],
  ]) {
    await browser.howdah.createService({ name, environment_tag, cpu_millis: 'shared' })
  }
  await work(scene, Number(process.env['METRICS_MS'] ?? 0))
  const { people, url } = browser
  for (const { name: look, ...view } of looks) {
    const user = await browser.newUser('owner', view)
    const pages = pagesOf(scene).map(([name, path]): Shot => ({ name, path }))
    if (look === 'wide') {
      await take(user, pages, look)
      await user.context.close()
      continue
    }
    await take(user, [...pages, ...panelsOf(scene)], look)
    await take(user, firstStepsOf(await newProject(user, look), look), look)
    for (const line of user.wrong) console.log(look, line)
    await user.context.close()
    const visitor = await browser.newVisitor(view)
    await take(visitor, doorsOf(await people.newLink(user.person.user_id), url), look)
    await visitor.context.close()
  }
} finally {
  await browser.stop()
}
