// What each role sees: every act is there for all four, can be pressed by those who may, and says to the others what it needs; in each run
// for two of them. And the keyboard alone is enough.
import { beforeAll, expect, test } from 'vitest'
import { api, type EndpointName } from '#contract/api.ts'
import { isRole, type Role, roleAllows, roles } from '#contract/endpoint.ts'
import { sampleOf } from '#test/sample.ts'
import { until } from '#test/until.ts'
import { no_browser, type TestBrowser, type User } from './browser.ts'

let project = ''
let service = ''
let vpc = ''

/** A button by its name, or `menu: item`. `others`: of reasons that are none of the role. */
type Row = { endpoint: EndpointName; name: string; idle?: true }
const acts = (): [path: string, Row[]][] => [
  [`${project}/services`, [{ endpoint: 'createService', name: 'Create service' }]],
  [
    service,
    [
      { endpoint: 'forkService', name: 'Fork' },
      { endpoint: 'stopService', name: 'Stop' },
      { endpoint: 'drillService', name: 'Try a restore', idle: true },
      { endpoint: 'renameService', name: 'More acts: Rename' },
      { endpoint: 'renameService', name: 'Rename this service' },
      { endpoint: 'resizeService', name: 'More acts: Resize' },
      { endpoint: 'updatePassword', name: 'More acts: Set the password' },
      { endpoint: 'deleteService', name: 'More acts: Delete' },
    ],
  ],
  [`${service}/settings`, [{ endpoint: 'setExpiry', name: 'Apply', idle: true }]],
  [`${service}/forks`, [{ endpoint: 'takeSnapshot', name: 'Take one now' }]],
  [
    `${service}/replicas`,
    [
      { endpoint: 'setHA', name: 'Apply', idle: true },
      { endpoint: 'switchover', name: 'Switch over' },
      { endpoint: 'enablePooler', name: 'Enable' },
      { endpoint: 'createReplicaSet', name: 'Create a set' },
      { endpoint: 'resizeReplicaSet', name: 'Acts on reports: Resize' },
      { endpoint: 'enableReplicaSetPooler', name: 'Acts on reports: Enable the pooler' },
      { endpoint: 'setReplicaSetEnvironment', name: 'Acts on reports: Make it PROD' },
      { endpoint: 'deleteReplicaSet', name: 'Acts on reports: Delete' },
    ],
  ],
  [`${service}/network`, [{ endpoint: 'attachToVpc', name: 'Attach' }]],
  [`${project}/networks`, [{ endpoint: 'createVpc', name: 'Create VPC' }]],
  [
    vpc,
    [
      { endpoint: 'renameVpc', name: 'Rename' },
      { endpoint: 'deleteVpc', name: 'Delete' },
      { endpoint: 'createPeering', name: 'Peer with another VPC' },
    ],
  ],
  [`${project}/members`, [{ endpoint: 'addMember', name: 'Add a member' }]],
  [`${project}/tokens`, [{ endpoint: 'createToken', name: 'Create a token' }]],
  [`${project}/settings`, [{ endpoint: 'deleteProject', name: 'Delete' }]],
]

export function roleTests(started: () => TestBrowser): void {
  beforeAll(async () => {
    if (no_browser !== '') return
    const { howdah } = started()
    project = `/projects/${howdah.project_id}`
    const made = await howdah.createService({ name: 'shop', replica_count: 1 })
    service = `${project}/services/${made.service_id}`
    const home = { name: 'shops', cidr: '10.65.0.0/24', region_code: 'local' }
    vpc = `${project}/networks/${(await howdah.call<{ id: string }>('POST', `${project}/vpcs`, home)).body.id}`
    await howdah.call('POST', `${howdah.services}/${made.service_id}/replicaSets`, { name: 'reports', nodes: 1 })
  })

  for (const role of sampleOf(roles, 2)) {
    test.skipIf(no_browser)(`every act, as ${role}${no_browser}`, async () => {
      const user = await started().userAs(role)
      for (const [path, rows] of acts()) {
        await user.open(path)
        // The page is there before the role is known.
        await until(async () => (await surprisesOf(user, role, rows)).length === 0).catch(() => undefined)
        expect([path, await surprisesOf(user, role, rows)]).toEqual([path, []])
      }
      expect(user.wrong).toEqual([])
    })
  }

  test.skipIf(no_browser)(`with the keyboard alone: create, copy, fork, delete${no_browser}`, async () => {
    const user = await started().userAs('developer')
    const { page, open } = user
    const keys = async (...names: string[]) => {
      for (const name of names) await page.keyboard.press(name)
    }
    /** Moves on until what has the focus is called this. */
    const tabTo = async (name: string) => {
      for (let steps = 0; steps < 80; steps += 1) {
        const reached = await page.evaluate(
          () => document.activeElement?.getAttribute('aria-label') ?? document.activeElement?.textContent ?? '',
        )
        if (reached === name) return
        await keys('Tab')
      }
      throw new Error(`the focus never comes to ${name}`)
    }
    const act = async (text: string) => {
      await keys('Control+k')
      await page.getByRole('combobox', { name: 'Find and act' }).waitFor()
      await page.keyboard.type(text)
      await keys('Enter')
    }
    await open(`${project}/services`)
    await keys('c')
    await page.getByLabel('Name', { exact: true }).waitFor()
    await page.getByLabel('Name', { exact: true }).focus()
    await page.keyboard.type('typed')
    await keys('Enter')
    await page.getByRole('heading', { name: 'typed' }).waitFor()
    await page.getByRole('status').getByText('READY').waitFor()
    const password = await page.getByTestId('password').textContent()
    await tabTo('Copy')
    await keys('Enter')
    await page.waitForFunction(
      (text) => navigator.clipboard.readText().then((copied) => copied.includes(text)),
      password ?? '',
    )
    const haveIt = async () => {
      await page.getByRole('checkbox', { name: 'I have it' }).focus()
      await keys('Space', 'Tab', 'Enter')
      await page.getByTestId('password').waitFor({ state: 'detached' })
    }
    await haveIt()
    await act('Fork')
    await page.getByRole('dialog').getByLabel('Name').waitFor()
    await keys('Enter')
    await page.getByRole('heading', { name: 'typed-fork' }).waitFor()
    await page.getByRole('status').getByText('READY').waitFor()
    await haveIt()
    await act('Delete')
    await page.getByRole('dialog').waitFor()
    await tabTo('Delete it')
    await keys('Enter')
    await page.getByRole('heading', { name: 'Services' }).waitFor()
    await page.getByRole('link', { name: 'typed-fork' }).waitFor({ state: 'detached' })
    expect(user.wrong).toEqual([])
  })
}

/** Acts that are not as the contract promises them to the role. */
async function surprisesOf(user: User, role: Role, rows: readonly Row[]): Promise<string[]> {
  const reasons = new Map<string, string>()
  const buttons = rows.filter(({ name }) => !name.includes(': ')).map(({ name }) => name)
  for (const name of buttons) reasons.set(name, await reasonOf(user, name))
  const menus = new Set(rows.filter(({ name }) => name.includes(': ')).map(({ name }) => name.split(': ')[0] ?? ''))
  for (const menu of menus) for (const [item, reason] of await reasonsIn(user, menu)) reasons.set(item, reason)
  return rows.flatMap(({ name, endpoint, idle }) => {
    const { access } = api[endpoint]
    const may = !isRole(access) || roleAllows(role, access)
    const reason = reasons.get(name) ?? 'it is not there'
    const by_role = `your role in this project is ${role}; this needs at least ${access}`
    const is_promised = may ? idle === true || reason === '' : reason.includes(by_role)
    const is_of_role = reason.includes('your role in this project')
    return is_promised && is_of_role === !may ? [] : [`${name}: ${reason}`]
  })
}

/** Why it cannot be pressed; '' where it can. */
async function reasonOf({ page }: User, name: string): Promise<string> {
  const button = page
    .getByRole('button', { name, exact: true })
    .or(page.getByRole('link', { name, exact: true }))
    .first()
  await button.waitFor()
  const is_stopped = (await button.getAttribute('aria-disabled')) === 'true'
  return is_stopped ? ((await button.getAttribute('aria-description')) ?? '') : ''
}

/** The same for all items of a menu, each as `menu: item`. An item has a line for its name and one for its reason. */
async function reasonsIn({ page }: User, menu: string): Promise<[item: string, reason: string][]> {
  await page.getByRole('button', { name: menu, exact: true }).click()
  const items = page.getByRole('menuitem')
  await items.first().waitFor()
  const lines = await items.evaluateAll((elements) =>
    elements.map((element) => [...element.childNodes].map((node) => node.textContent ?? '')),
  )
  await page.keyboard.press('Escape')
  await items.first().waitFor({ state: 'detached' })
  return lines.map(([item = '', reason = '']) => [`${menu}: ${item}`, reason])
}
