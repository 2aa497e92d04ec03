// Programs of agents that register themselves: what each may say of itself, what its user is shown, and how long it is known.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newCall } from '#test/call.ts'
import { startInRegion } from '#test/http/region.ts'
import { shared } from '#test/shared.ts'
import { newBrowser, type Page } from './browser.ts'
import { codeFrom, openPeople, type People, postToken } from './people.ts'
import { askFor, newProgram, register } from './programs.ts'

const howdah = shared(() => startInRegion({ config: { mcp_registration: 'on' } }))
let people: People
let origin: string

beforeAll(async () => {
  origin = howdah.server.public_url
  people = await openPeople(howdah)
})
afterAll(async () => {
  await people?.close()
})

const redirect_uri = 'http://localhost:7777/done'

const daysLeft = async (client_id: string) => {
  const text = `select extract(epoch from expires_at - now())::float8 / 86400 as days from oauth_records where id = $1`
  const [row] = await people.db.query<{ days: number }>({ text, values: [client_id] })
  return row?.days ?? 0
}

/** Words as people read them. */
const wordsOf = (page: Page) => page.text.replaceAll(/<[^>]+>/g, '').replaceAll(/\s+/g, ' ')

test('its user sees where it leads each time, and its token is for agents alone', async () => {
  const { client_id } = await newProgram(origin, redirect_uri)
  expect(await daysLeft(client_id)).toBeLessThan(0.1)
  const person = await people.newPerson('developer')
  const browser = newBrowser()
  const asked = askFor(origin, client_id, { scope: 'read', redirect_uri })
  const form = await browser.follow(await browser.get(asked.url))
  expect(wordsOf(form)).toContain('to go on to a program that calls itself “Inspector”')
  const confirm = await browser.submit(form, { email: person.email, password: person.password })
  expect(wordsOf(confirm)).toContain('A program that calls itself “Inspector” asks to read for')
  expect(wordsOf(confirm)).toContain('You are sent on to localhost:7777.')
  // A browser applies this list to where a form leads in the end.
  const policy = confirm.headers.get('content-security-policy') ?? ''
  expect(policy).toContain(`form-action 'self' http://127.0.0.1:* http://localhost:7777;`)
  const code = codeFrom(await browser.submit(confirm), asked)
  expect(await daysLeft(client_id)).toBeGreaterThan(29)
  const { code_verifier } = asked
  const traded = { grant_type: 'authorization_code', client_id, code, redirect_uri, code_verifier }
  const { access_token, refresh_token } = (await postToken(origin, traded)).body
  expect(refresh_token).toEqual(expect.any(String))
  expect((await newCall(howdah.server.api_url, access_token)('GET', '/projects')).status).toBe(401)
  const headers = { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' }
  const all = { ...headers, accept: 'application/json, text/event-stream' }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} })
  const tools = await (await fetch(`${origin}/mcp`, { method: 'POST', headers: all, body })).text()
  expect(tools).toContain('list_services')
  expect(tools).not.toContain('delete_service')
  const again = await browser.follow(
    await browser.get(askFor(origin, client_id, { scope: 'read write', redirect_uri }).url),
  )
  expect(wordsOf(again)).toContain('“Inspector” asks to act for')
})

test('what it need not say is filled in, and what is not asked of it is not kept', async () => {
  const { status, body } = await register(origin, {
    redirect_uris: ['https://agent.example/cb'],
    logo_uri: 'https://agent.example/',
  })
  expect([status, body.token_endpoint_auth_method]).toEqual([201, 'none'])
  const text = 'select payload from oauth_records where id = $1'
  const [row] = await people.db.query<{ payload: object }>({ text, values: [body.client_id] })
  expect(row?.payload).toMatchObject({ redirect_uris: ['https://agent.example/cb'] })
  for (const member of ['logo_uri', 'client_secret']) expect(row?.payload).not.toHaveProperty(member)
})

test.each([
  ['a page of another site over http', { redirect_uris: ['http://agent.example/cb'] }, 'https'],
  ['a name that begins like ours', { redirect_uris: ['http://localhost.agent.example/cb'] }, 'https'],
  ['a host that would end a policy', { redirect_uris: ['https://a;b.example/cb'] }, 'https'],
  ['an address of a program', { redirect_uris: ['myapp://cb'], application_type: 'native' }, 'https'],
  ['many addresses', { redirect_uris: Array.from({ length: 11 }, (_, n) => `https://a.example/${n}`) }, 'at most 10'],
  [
    'another way to log in',
    { grant_types: ['authorization_code', 'urn:ietf:params:oauth:grant-type:device_code'] },
    'grant_types',
  ],
  ['a secret', { token_endpoint_auth_method: 'client_secret_basic' }, 'token_endpoint_auth_method'],
  ['a name that no page has room for', { client_name: 'x'.repeat(81) }, 'client_name'],
  ['a name that turns the text around', { client_name: 'x\u202Ey' }, 'client_name'],
])('%s is refused', async (_what, said, why) => {
  const { status, body } = await register(origin, { redirect_uris: [redirect_uri], ...said })
  expect([status, body.error_description]).toEqual([400, expect.stringContaining(why)])
})

test('one whose time is over is not known any more', async () => {
  const { client_id } = await newProgram(origin, redirect_uri)
  const text = `update oauth_records set expires_at = now() - interval '1 second' where id = $1`
  await people.db.query({ text, values: [client_id] })
  const page = await newBrowser().get(askFor(origin, client_id, { scope: 'read', redirect_uri }).url)
  expect([page.status, wordsOf(page)]).toEqual([400, expect.stringContaining('client is invalid')])
})
