// The console as files: who gets them, with which policy, and what stays as it was.
import { request as httpRequest } from 'node:http'
import { beforeAll, expect, test } from 'vitest'
import { startInstallation } from '#test/installation.ts'
import { shared } from '#test/shared.ts'
import { ensureBuilt } from './build.ts'

beforeAll(() => ensureBuilt())
const howdah = shared(startInstallation)

const html = { accept: 'text/html,application/xhtml+xml' }
const get = (path: string, headers: Record<string, string> = html) => fetch(howdah.server.url + path, { headers })

test('every path that a browser opens and that is nothing else is the page, under the strictest policy', async () => {
  for (const path of ['/', '/projects', '/projects/abc/services?view=tree', '/account']) {
    const answer = await get(path)
    expect([path, answer.status, answer.headers.get('content-type')]).toEqual([path, 200, 'text/html; charset=utf-8'])
    expect(answer.headers.get('content-security-policy')).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; " +
        "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'",
    )
    expect(answer.headers.get('cross-origin-opener-policy')).toBe('same-origin')
    expect(answer.headers.get('referrer-policy')).toBe('same-origin')
    expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    expect(answer.headers.get('permissions-policy')).toContain('clipboard-write=(self)')
    expect(answer.headers.get('cache-control')).toBe('no-cache')
    expect(await answer.text()).toContain('<div id="root">')
  }
})

test('the page is not sent again to a browser that has it', async () => {
  const etag = (await get('/')).headers.get('etag') ?? ''
  const again = await get('/projects', { ...html, 'if-none-match': etag })
  expect([again.status, await again.text()]).toEqual([304, ''])
})

test('files are compressed, and kept for ever under names that change with them', async () => {
  const script = /src="(\/console\/assets\/[^"]+\.js)"/.exec(await (await get('/')).text())?.[1] ?? ''
  const sizes = await Promise.all(['br', 'gzip', 'identity'].map((encoding) => sizeOf(script, encoding)))
  expect(sizes[0]).toBeLessThan(sizes[2] ?? 0)
  expect(sizes[1]).toBeLessThan(sizes[2] ?? 0)
  const answer = await get(script, {})
  expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable')
  expect(answer.headers.get('content-type')).toBe('text/javascript; charset=utf-8')
})

test.each([
  ['/public/api/v1/nothing', html],
  ['/healthz/nothing', html],
  ['/console/nothing.js', html],
  ['/console/assets/%2e%2e/index.html', html],
  ['/console/assets/..%2findex.html', html],
  ['/mcp', html],
  ['/.well-known/nothing', html],
  ['/nothing', { accept: 'application/json' }],
  ['/nothing', {}],
] as [string, Record<string, string>][])('%s with %j is JSON, as ever', async (path, headers) => {
  const answer = await get(path, headers)
  expect([401, 404]).toContain(answer.status)
  expect(answer.headers.get('content-type')).toContain('application/json')
})

test('what people read and is not there is a page, under the policy of plain pages', async () => {
  const answer = await get('/docs/nothing')
  expect([answer.status, answer.headers.get('content-type')]).toEqual([404, 'text/html; charset=utf-8'])
  expect(answer.headers.get('content-security-policy')).toContain("default-src 'none'")
  expect(await answer.text()).toContain('There is no such page')
  expect((await get('/docs/nothing', {})).headers.get('content-type')).toContain('application/json')
})

/** fetch would undo the compression. */
function sizeOf(path: string, encoding: string): Promise<number> {
  return new Promise((resolve, reject) => {
    httpRequest(howdah.server.url + path, { headers: { 'accept-encoding': encoding } }, (response) => {
      expect(response.headers['content-encoding']).toBe(encoding === 'identity' ? undefined : encoding)
      let size = 0
      response.on('data', (chunk: Buffer) => (size += chunk.length)).on('end', () => resolve(size))
    })
      .on('error', reject)
      .end()
  })
}
