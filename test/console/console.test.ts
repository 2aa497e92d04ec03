// The console before a server without databases: every endpoint from the browser, every role, the first page, changes that others make, a
// long list, and the login of a program that is none of ours. One server, one browser, and a proxy between them.
import { afterAll, beforeAll, describe } from 'vitest'
import { no_browser, startBrowser, type TestBrowser, without_databases } from './browser.ts'
import { endpointTests } from './every-endpoint.ts'
import { roleTests } from './every-role.ts'
import { firstPageTests } from './first-page.ts'
import { liveTests } from './live-changes.ts'
import { longListTests } from './long-list.ts'
import { longNameTests } from './long-names.ts'
import { menuTests } from './menus.ts'
import { openPageTests } from './open-page.ts'
import { type Proxy, startProxy } from './proxy.ts'
import { programTests } from './registered-program.ts'
import { secretTests } from './secrets.ts'
import { shownAtOnceTests } from './shown-at-once.ts'

let proxy: Proxy
let browser: TestBrowser
beforeAll(async () => {
  if (no_browser !== '') return
  proxy = await startProxy()
  browser = await startBrowser({
    config: { ...without_databases, undelete: 3_600, mcp_registration: 'on', public_url: proxy.url },
  })
  proxy.to = browser.howdah.server.url
})
afterAll(async () => {
  if (no_browser !== '') return
  await browser.stop()
  await proxy.close()
})

describe('every endpoint', () => endpointTests(() => browser))
describe('every role', () => roleTests(() => browser))
describe('the first page', () =>
  firstPageTests(
    () => browser,
    () => proxy,
  ))
describe('long names', () => longNameTests(() => browser))
describe('menus and tips', () => menuTests(() => browser))
describe('other programs', () => programTests(() => browser))
describe('what is shown at once', () =>
  shownAtOnceTests(
    () => browser,
    () => proxy,
  ))
describe('a page that stays open', () =>
  openPageTests(
    () => browser,
    () => proxy,
  ))
describe('secrets', () =>
  secretTests(
    () => browser,
    () => proxy,
  ))
describe('a long list', () =>
  longListTests(
    () => browser,
    () => proxy,
  ))
describe('what others change', () =>
  liveTests(
    () => browser,
    () => proxy,
  ))
