// Every verb is in the browser: one person does everything that the API can do, by buttons and fields, and a record of the requests shows
// that no endpoint was left out.
import { beforeAll, expect, test } from 'vitest'
import { api, type EndpointName } from '#contract/api.ts'
import { logIn, refresh } from '#test/oauth/people.ts'
import { until } from '#test/until.ts'
import { no_browser, type TestBrowser, type User } from './browser.ts'
import { endpointOf } from './endpoint-of.ts'
import { handsOf } from './hands.ts'

/** Those that no page asks for, each with its reason. */
const elsewhere: Partial<Record<EndpointName, string>> = {
  logout: 'the console ends its login at the server’s own route, with the cookie',
  getCaCertificate: 'a link on the page Connect, which the browser follows by itself',
  getPeering: 'the lists of peerings have every member of it',
  drillService: 'this region makes no drills; life.test.ts tries a restore',
  runQuery: 'this region has no database; life.test.ts runs a statement',
}

let user: User
let project = ''

const { press, answer, fill, choose, confirm, closed, ready, fromMenu } = handsOf(() => user)
/** The address of the service that was made first. */
const open = (path: string) => user.open(`${project}${path}`)
const called = () => new Set(user.requests.map(endpointOf))
const untilCalled = (...names: EndpointName[]) =>
  until(() => names.every((name) => called().has(name)), { what: `the browser calls ${names.join(', ')}` })

let at = ''

/** An act is over that the service refuses others for; the page may still show what was before it. */
async function settled({ howdah }: TestBrowser, verb: string, act: () => Promise<void>): Promise<void> {
  const answer = user.page.waitForResponse((response) => response.url().endsWith(`/${verb}`))
  await act()
  await answer
  await howdah.untilStatus(at.split('/')[2] ?? '', 'READY')
}

export function endpointTests(started: () => TestBrowser): void {
  beforeAll(async () => {
    if (no_browser !== '') return
    user = await started().userAs('owner')
    project = `/projects/${started().howdah.project_id}`
  })

  test.skipIf(no_browser)(`a service: made, described, resized, scheduled${no_browser}`, async () => {
    await open('/services')
    await user.page.getByRole('link', { name: 'Create service' }).first().click()
    await fill('Name', 'market')
    // People who double-click everything make one service.
    await user.page.getByRole('button', { name: 'Create service', exact: true }).dblclick()
    await user.page.getByTestId('password').waitFor()
    await user.page.getByRole('checkbox', { name: 'I have it' }).check()
    await press('Close for ever')
    await ready()
    const { howdah } = started()
    expect((await howdah.call<object[]>('GET', `${howdah.services}?name=market`)).body).toHaveLength(1)
    at = new URL(user.page.url()).pathname.slice(project.length).replace(/\/connect$/, '')
    await fromMenu('More acts', 'Rename')
    await fill('Name of market', 'bazaar')
    await press('Save')
    await user.page.getByRole('heading', { name: 'bazaar' }).waitFor()
    await fromMenu('More acts', 'Set the password')
    await answer('Set the password')
    await untilCalled('updatePassword')
    await open(`${at}/settings`)
    await choose('PROD')
    await untilCalled('setEnvironment')
    await choose('DEV')
    // What protects a PROD service goes with its tag.
    await user.page.locator('label:has(input:checked)', { hasText: /^Not protected$/ }).waitFor()
    await choose('Protected')
    await untilCalled('setProtection')
    await choose('Not protected')
    const snapshots = user.page.getByRole('region', { name: 'Snapshots' })
    await snapshots.getByLabel('Every').fill('6h')
    await snapshots.getByLabel('Kept for').fill('7d')
    await snapshots.getByRole('button', { name: 'Apply' }).click()
    await untilCalled('setSnapshotPolicy')
    await snapshots.getByRole('button', { name: 'Apply', disabled: true }).waitFor()
    const end = user.page.getByRole('region', { name: 'End' })
    await end.getByLabel('Ends by itself').selectOption('7d')
    await end.getByRole('button', { name: 'Apply' }).click()
    await end.locator('option:checked', { hasText: /^at \d{4}-/ }).waitFor({ state: 'attached' })
    await press('Resize')
    await user.page
      .getByRole('dialog')
      .getByRole('radio', { name: /^2 CPU/ })
      .check()
    await answer('Resize')
    await closed()
    await open(at)
    await ready()
    await untilCalled('getRestorable', 'listSnapshots', 'listServiceEvents')
  })

  test.skipIf(no_browser)(`its copies: snapshots, forks, replicas, sets, poolers${no_browser}`, async () => {
    await open(`${at}/forks`)
    await press('Take one now')
    await user.page.getByRole('row', { name: /manual/ }).waitFor()
    await user.page
      .getByRole('row', { name: /manual/ })
      .getByRole('button', { name: 'Delete the snapshot' })
      .click()
    await answer('Delete')
    await closed()
    await press('Look first')
    await answer('Look')
    await user.page.getByRole('heading', { name: /^bazaar at / }).waitFor()
    await ready()
    await user.page.getByRole('link', { name: 'Forks' }).click()
    await press('Reset to its parent…')
    await confirm('Reset it')
    await ready()
    await open(`${at}/forks`)
    await press('Rewind here…')
    await confirm('Rewind it')
    await ready()
    await press('Undo the rewind…')
    await confirm('Undo it')
    await ready()
    await untilCalled('takeSnapshot', 'deleteSnapshot', 'getLineage', 'forkService')
    await open(`${at}/replicas`)
    const replicas = user.page.getByRole('region', { name: 'Replicas that can take over' })
    await replicas.getByText('1', { exact: true }).first().click()
    await settled(started(), 'setHA', () => replicas.getByRole('button', { name: 'Apply' }).click())
    await settled(started(), 'switchover', () => press('Switch over'))
    await untilCalled('setHA', 'switchover')
    const pooler = user.page.getByRole('region', { name: 'Connection pooler' })
    await pooler.getByRole('button', { name: 'Enable' }).click()
    await pooler.getByRole('button', { name: 'Disable' }).click()
    await untilCalled('enablePooler', 'disablePooler')
    await press('Create a set')
    await user.page.getByRole('dialog').getByLabel('Name').fill('reports')
    await answer('Create')
    await user.page.getByRole('region', { name: 'reports' }).getByText('active').waitFor()
    for (const act of ['Enable the pooler', 'Disable the pooler', 'Make it PROD', 'Resize']) {
      await fromMenu('Acts on reports', act)
    }
    await user.page
      .getByRole('dialog')
      .getByRole('radio', { name: /^2 CPU/ })
      .check()
    await answer('Resize')
    await closed()
    await user.page.getByRole('region', { name: 'reports' }).getByText('active').waitFor()
    await open(`${at}/logs`)
    await user.page.getByLabel('Node', { exact: true }).selectOption({ label: 'reports, node 0' })
    await untilCalled('getReplicaSetLogs', 'getServiceLogs', 'getLogHistogram')
    await open(`${at}/metrics`)
    await untilCalled('listMetricSeries', 'getMetricSeries')
    await open(`${at}/replicas`)
    await fromMenu('Acts on reports', 'Delete')
    await answer('Delete')
    await closed()
    await untilCalled('deleteReplicaSet')
  })

  test.skipIf(no_browser)(`networks: made, linked, moved into and out of, removed${no_browser}`, async () => {
    await open('/networks')
    for (const name of ['home', 'office']) {
      await press('Create VPC')
      await user.page.getByRole('dialog').getByLabel('Name').fill(name)
      await answer('Create')
      await user.page.getByRole('link', { name, exact: true }).first().waitFor()
    }
    await open(`${at}/network`)
    await press('Attach')
    await untilCalled('attachToVpc')
    await ready()
    await press('Detach')
    await untilCalled('detachFromVpc')
    await ready()
    await open('/networks')
    await user.page.getByRole('table', { name: 'VPCs' }).getByRole('link', { name: 'home' }).click()
    await press('Peer with another VPC')
    await answer('Peer')
    await user.page.getByRole('row', { name: /active/ }).waitFor()
    await press('Delete the peering')
    await answer('Delete')
    await closed()
    await press('Rename')
    await user.page.getByRole('dialog').getByLabel('Name').fill('hut')
    await answer('Rename')
    await user.page.getByRole('heading', { name: 'hut' }).waitFor()
    await press('Delete')
    await answer('Delete')
    await user.page.getByRole('heading', { name: 'Networks' }).waitFor()
    await untilCalled('deleteVpc', 'listProjectPeerings', 'listPeerings', 'getVpc')
  })

  test.skipIf(no_browser)(`people and what they leave: members, tokens, activity, audit${no_browser}`, async () => {
    await open('/members')
    await press('Add a member')
    await user.page.getByRole('dialog').getByLabel('E-mail').fill('ada@example.com')
    await answer('Add')
    const ada = user.page.getByRole('row', { name: /ada@example.com/ })
    await ada.getByRole('button', { name: 'Login link' }).click()
    await answer('Close')
    await ada.getByRole('combobox').selectOption('admin')
    await untilCalled('setMemberRole')
    await ada.getByRole('button', { name: /^Remove/ }).click()
    await answer('Remove')
    await ada.waitFor({ state: 'detached' })
    await open('/tokens')
    await press('Create a token')
    await fill('What it is for', 'ci')
    await answer('Create')
    await user.page.getByRole('dialog').getByLabel('I have it').check()
    await answer('Close for ever')
    await press('Revoke ci')
    await answer('Revoke')
    await untilCalled('revokeToken')
    await open('/activity')
    await untilCalled('listProjectEvents')
    await open('/audit')
    await untilCalled('listAudit', 'createLoginLink')
    await user.page.getByLabel('What', { exact: true }).selectOption('revokeToken')
    await user.page.getByRole('rowheader').filter({ hasNotText: 'revokeToken' }).first().waitFor({ state: 'detached' })
    expect(await user.page.getByRole('rowheader').count()).toBe(1)
    const elsewhere = await logIn(started().url, user.person, { client_id: 'howdah-cli' })
    await user.open('/account')
    await user.page
      .getByRole('row', { name: /Howdah command line/ })
      .getByRole('button', { name: 'End' })
      .click()
    await answer('End it')
    await closed()
    await user.page.getByRole('row', { name: /Howdah command line/ }).waitFor({ state: 'detached' })
    expect((await refresh(started().url, elsewhere.refresh_token, 'howdah-cli')).body.error).toBe('invalid_grant')
    await choose('Comfortable')
    expect(await user.page.evaluate(() => document.documentElement.dataset['density'])).toBe('comfortable')
    await choose('Dense')
    await untilCalled('getAuthInfo')
  })

  test.skipIf(no_browser)(
    `an end and a way back: stop, start, delete, restore, remove for ever${no_browser}`,
    async () => {
      await open(at)
      await press('Stop')
      await user.page.getByRole('status').getByText('PAUSED').waitFor()
      await press('Start')
      await ready()
      await open('/services')
      await press('Name')
      await press('Name')
      await user.page.locator('th[aria-sort=descending]').waitFor()
      const names = await user.page.getByRole('rowheader').getByRole('link').allTextContents()
      expect(names.length).toBeGreaterThan(1)
      expect(names).toEqual(names.toSorted((one, other) => other.localeCompare(one)))
      await user.page.getByRole('checkbox', { name: 'Choose all' }).check()
      await press('Make DEV')
      await user.page.getByText('is DEV').first().waitFor()
      // When all of them are done, none is chosen any more.
      await user.page
        .getByRole('status')
        .filter({ hasText: /chosen$/ })
        .waitFor({ state: 'detached' })
      await user.page.getByRole('checkbox', { name: 'Choose bazaar', exact: true }).check()
      await press('Delete')
      await answer('Delete them')
      // When it has left the list, nothing moves under the pointer any more.
      await user.page.getByRole('link', { name: 'bazaar', exact: true }).waitFor({ state: 'detached' })
      const deleted = user.page.getByRole('table', { name: 'Deleted services' })
      await deleted.getByRole('button', { name: 'Restore' }).click()
      await deleted.waitFor({ state: 'detached' })
      const bazaar = user.page.getByRole('row', { name: /bazaar(?! at)/ })
      await bazaar.getByText('READY').waitFor()
      await fromMenu('Acts on bazaar', 'Delete')
      await answer('Delete it')
      await deleted.getByRole('button', { name: 'Remove for ever' }).click()
      await answer('Remove for ever')
      await closed()
      await user.open('/projects')
      await press('Create project')
      await user.page.getByRole('dialog').getByLabel('Name').fill('second')
      await answer('Create')
      await closed()
      await user.page.getByRole('heading', { name: 'Services' }).waitFor()
      await user.open(new URL(user.page.url()).pathname.replace(/services$/, 'settings'))
      await fill('Name of the project', 'third')
      await press('Rename')
      await untilCalled('renameProject')
      await user.page.getByRole('link', { name: 'third', exact: true }).waitFor()
      await press('Delete')
      await confirm('Delete')
      await untilCalled('deleteProject', 'purgeDeletedService', 'restoreDeletedService')
    },
  )

  test.skipIf(no_browser)(`no endpoint of the API was left out, and nothing went wrong meanwhile${no_browser}`, () => {
    const missing = Object.keys(api).filter((name) => !called().has(name as EndpointName) && !(name in elsewhere))
    expect(missing).toEqual([])
    const listed = Object.keys(elsewhere).filter((name) => called().has(name as EndpointName))
    expect(listed).toEqual([])
    expect(user.wrong).toEqual([])
  })
}
