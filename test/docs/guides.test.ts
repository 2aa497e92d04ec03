// The guides at /docs: every page, every link between them, and the search; public, without a script, without the network.
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, expect, test } from 'vitest'
import { shared } from '#test/shared.ts'
import { root } from '#test/sources.ts'
import { startInRegion } from '../http/region.ts'

const installation = shared(startInRegion)
const pages = new Map<string, string>()

const get = async (path: string) => await fetch(installation.server.url + path)
const slugs = readdirSync(join(root, 'docs')).flatMap((name) => /^(.+)\.md$/.exec(name)?.[1] ?? [])

beforeAll(async () => {
  for (const path of ['/docs', '/docs/reference', ...slugs.map((slug) => `/docs/${slug}`)]) {
    const response = await get(path)
    expect([path, response.status]).toEqual([path, 200])
    expect(response.headers.get('content-security-policy')).toMatch(
      /^default-src 'none'; style-src 'unsafe-inline'; img-src 'self'/,
    )
    pages.set(path, await response.text())
  }
})

test('the list leads to every page', () => {
  for (const slug of slugs) expect(pages.get('/docs')).toContain(`href="/docs/${slug}"`)
})

test('the list tells of each page in a sentence', () => {
  const told = [...(pages.get('/docs') ?? '').matchAll(/<li><a href="\/docs\/([\w-]+)">[^<]*<\/a><p>(.*?)<\/p>/g)]
  expect(told.map(([, slug]) => slug)).toEqual(expect.arrayContaining(slugs))
  const bare = told.filter(([, , text = '']) => !/^[A-Z].{30,}\.$/.test(text))
  expect(bare.map(([, slug, text]) => [slug, text])).toEqual([])
})

test('every link leads to a page, a heading or a file that is there', async () => {
  const links = new Set(
    [...pages].flatMap(([path, page]) => hrefsOf(page).map((href) => new URL(href, `http://h${path}`).href)),
  )
  for (const link of links) {
    const { host, pathname, hash } = new URL(link)
    if (host !== 'h' || !pathname.startsWith('/docs')) continue
    const response = await get(pathname)
    expect([link, response.status]).toEqual([link, 200])
    if (hash !== '') expect(await response.text(), link).toContain(`id="${decodeURIComponent(hash.slice(1))}"`)
  }
})

test('a page has one title, no script, nothing from outside and no text of its source that is no text', () => {
  for (const [path, page] of pages) {
    expect([...page.matchAll(/<h1[ >]/g)], path).toHaveLength(1)
    expect(page, path).not.toMatch(/<script|<iframe|<object|\son\w+=|<!-- |src="(https?:)?\/\//i)
    expect(page.replaceAll(/<(pre|code)\b.*?<\/\1>/gs, ''), path).not.toMatch(/```|\]\(|^\|/m)
  }
})

test('the search finds sections and endpoints, those with every word first', async () => {
  const found = hrefsIn(await (await get('/docs/search?q=disk+quotas')).text())
  expect(found[0]).toBe('/docs/services-and-sizes#disk-quotas')
  const some = hrefsIn(await (await get('/docs/search?q=switchover+zzzq')).text())
  expect(some.length).toBeGreaterThan(0)
  const endpoints = hrefsIn(await (await get('/docs/search?q=switchover')).text())
  expect(endpoints).toContain('/docs/reference#switchover')
})

test('a question is text, however it is written, and may find nothing', async () => {
  const page = await (await get(`/docs/search?q=${encodeURIComponent('"><script>zzzq</script>')}`)).text()
  expect(page).not.toContain('<script')
  expect(page).toContain('No page has any of these words.')
  for (const query of ['', '?q=', '?q=%20', '?q=a&q=b', `?q=${'x'.repeat(5000)}`]) {
    expect([query, (await get(`/docs/search${query}`)).status]).toEqual([query, 200])
  }
})

test('pictures and files are served, and nothing beside them', async () => {
  expect((await get('/docs/pictures/services.png')).headers.get('content-type')).toBe('image/png')
  expect(await (await get('/docs/monitoring/howdah-dashboard.json')).json()).toMatchObject({ title: 'Howdah' })
  for (const path of ['nothing', 'pictures/none.png', 'pictures/..%2fapi.md', 'monitoring/..%2f..%2fpackage.json']) {
    expect([path, (await get(`/docs/${path}`)).status]).toEqual([path, 404])
  }
})

function hrefsOf(page: string): string[] {
  return [...page.matchAll(/(?:href|src)="([^"]*)"/g)].map(([, href = '']) => href.replaceAll('&amp;', '&'))
}

/** Of the results alone. */
function hrefsIn(page: string): string[] {
  return hrefsOf(/<main.*<\/main>/s.exec(page)?.[0] ?? '')
}
