// Two servers of one store behind one address, each with a data directory of its own; and the command line, which logs
// in at them like any other client.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { decodeProtectedHeader } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AuditEntry } from '#contract/audit.ts'
import { newLog } from '#server/log.ts'
import { type Server, startServer } from '#server/main.ts'
import { newCall } from '#test/call.ts'
import { removeDataDir } from '#test/data-dir.ts'
import { storeUrlOf } from '#test/database.ts'
import { howdah, repository } from '#test/e2e/howdah.ts'
import { newTestConfig, startInstallation, type TestInstallation } from '#test/installation.ts'
import { until } from '#test/until.ts'
import { formIn, newBrowser } from './browser.ts'
import { askAs, codeFrom, logIn, openPeople, type People, type Person, refresh, tokensFor } from './people.ts'

let one: TestInstallation
let other: Server
let other_data_dir: string
let people: People
let person: Person
let origin: string
const config_home = mkdtempSync(join(tmpdir(), 'howdah-test-config-'))

beforeAll(async () => {
  one = await startInstallation()
  origin = one.server.public_url
  const config = newTestConfig({ region: 'other', database_url: storeUrlOf(one.config.data_dir), public_url: origin })
  other_data_dir = config.data_dir
  other = await startServer(config, { log: newLog(config.log_level) })
  people = await openPeople(one)
  person = await people.newPerson()
})

afterAll(async () => {
  await people?.close()
  await other?.close()
  await one?.stop()
  await removeDataDir(other_data_dir)
  rmSync(config_home, { recursive: true, force: true })
})

const info = async ({ api_url }: Server, token: string) => (await newCall(api_url, token)('GET', '/auth/info')).status

describe('two servers', () => {
  test('each believes what the other signed, refreshes it and ends it', async () => {
    const first = await logIn(origin, person)
    expect(await info(other, first.access_token)).toBe(200)
    const { body: second } = await refresh(other.url, first.refresh_token)
    expect(decodeProtectedHeader(second.access_token).kid).not.toBe(decodeProtectedHeader(first.access_token).kid)
    expect(await info(one.server, second.access_token)).toBe(200)
    expect((await newCall(other.api_url, second.access_token)('POST', '/auth/logout')).status).toBe(204)
    await until(async () => (await info(one.server, second.access_token)) === 401)
    expect((await refresh(origin, second.refresh_token)).body.error).toBe('invalid_grant')
    const { keys } = (await (await fetch(`${other.url}/oauth/jwks`)).json()) as { keys: object[] }
    expect(keys.length).toBe(2)
  })

  test('a login that begins at one ends at the other', async () => {
    const elsewhere = (url: string | undefined) => (url ?? '').replace(origin, other.url)
    const browser = newBrowser()
    const asked = askAs('howdah-console', origin)
    const first = await browser.get(asked.url)
    const form = formIn(await browser.get(elsewhere(first.location)))
    let page = await browser.post(form.action, { ...form.fields, email: person.email, password: person.password })
    expect(page.location?.startsWith(origin)).toBe(true)
    while (page.location !== undefined && !page.location.includes('/console/')) {
      page = await browser.get(elsewhere(page.location))
    }
    const tokens = await tokensFor(other.url, 'howdah-console', asked, codeFrom(page, asked))
    expect(await info(one.server, tokens.access_token)).toBe(200)
  })
})

test('behind a public address with TLS every cookie and every address is for that', async () => {
  const public_url = 'https://howdah.example.com'
  const config = newTestConfig({ ...one.config, public_url })
  const server = await startServer(config, { log: newLog(config.log_level) })
  try {
    const browser = newBrowser()
    const console_redirect = { redirect_uri: `${public_url}/console/callback` }
    const first = await browser.get(askAs('howdah-console', server.url, console_redirect).url)
    const form = await browser.get(first.location ?? '')
    expect(form.status).toBe(200)
    expect([...browser.cookies.values()].map(({ name }) => name).sort()).toEqual([
      'howdah_browser',
      'howdah_browser',
      'howdah_csrf',
      'howdah_login',
      'howdah_resume',
    ])
    for (const { attributes } of browser.cookies.values()) {
      expect(attributes.toLowerCase()).toMatch(/secure/)
      expect(attributes.toLowerCase()).toMatch(/httponly/)
      expect(attributes.toLowerCase()).toMatch(/samesite=lax/)
    }
    const { action, fields } = formIn(form)
    const back = await browser.post(action, { ...fields, email: person.email, password: person.password })
    expect(back.location?.startsWith(`${public_url}/oauth/auth/`)).toBe(true)
    const about = await fetch(`${server.url}/oauth/.well-known/openid-configuration`)
    expect(await about.json()).toMatchObject({
      issuer: `${public_url}/oauth`,
      token_endpoint: `${public_url}/oauth/token`,
    })
  } finally {
    await server.close()
  }
})

describe('the command line', () => {
  const env = { XDG_CONFIG_HOME: config_home }
  const file = join(config_home, 'howdah', 'credentials.json')

  /** Starts a login and returns what it printed first, and its end. */
  function startLogin(words: readonly string[]) {
    const child = spawn(join(repository, 'bin', 'howdah'), ['login', '--server', origin, ...words], {
      env: { ...process.env, ...env, DISPLAY: '', WAYLAND_DISPLAY: '' },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    let printed = ''
    child.stdout.setEncoding('utf8').on('data', (chunk: string) => {
      printed += chunk
    })
    const errors = text(child.stderr)
    let has_ended = false
    // With all that it printed.
    const ended = once(child, 'close').then(() => {
      has_ended = true
    })
    const first = async (pattern: RegExp) => {
      await until(() => has_ended || pattern.test(printed), { what: 'the login says where to go' })
      return pattern.exec(printed)?.[1] ?? expect.fail(`the login ended: ${printed}${await errors}`)
    }
    return { first, ended }
  }

  test('logs in with a browser, says who it is, and logs out', async () => {
    const login = startLogin([])
    const url = await login.first(/(http\S+\/oauth\/auth\S+)/)
    const redirect_uri = new URL(url).searchParams.get('redirect_uri') ?? ''
    // Others who knock at the same port are not heard.
    expect((await fetch(`${redirect_uri}?code=forged&state=forged`)).status).toBe(404)
    expect((await fetch(`${new URL(redirect_uri).origin}//`)).status).toBe(404)
    const browser = newBrowser()
    const form = await browser.follow(await browser.get(url))
    const back = await browser.submit(form, { email: person.email, password: person.password })
    const done = await browser.get(back.location ?? '')
    expect(done.text).toContain('You are logged in.')
    await login.ended
    expect(await login.first(/Logged in as (\S+)\./)).toBe(person.email)

    expect(statSync(file).mode & 0o777).toBe(0o600)
    const who = await howdah(['whoami'], env)
    expect(who.stdout).toBe(`A Person <${person.email}> at ${origin}\n`)

    // An access token that has expired is renewed, once, also by commands that run at the same time.
    // The file is as a former version wrote it: one login without a name.
    const { default: before } = JSON.parse(readFileSync(file, 'utf8')) as { default: { refresh_token: string } }
    writeFileSync(file, JSON.stringify({ ...before, expires_at: new Date().toISOString() }))
    const both = await Promise.all([howdah(['whoami', '--json'], env), howdah(['whoami'], env)])
    expect(both.map(({ code, stderr }) => stderr + String(code))).toEqual(['0', '0'])
    const { default: after } = JSON.parse(readFileSync(file, 'utf8')) as {
      default: { refresh_token: string; access_token: string }
    }
    expect(after.refresh_token).not.toBe(before.refresh_token)

    expect((await howdah(['logout'], env)).stdout).toBe('Logged out.\n')
    expect(await info(one.server, after.access_token)).toBe(401)
    const logged_out = await howdah(['whoami'], env)
    expect(logged_out.code).toBe(4)
    expect(logged_out.stderr).toContain('there is no login on this machine')
  })

  test('logs in by a code that is typed elsewhere', async () => {
    const login = startLogin(['--device'])
    const user_code = await login.first(/\n {2}([A-Z]{4}-[A-Z]{4})\n/)
    const browser = newBrowser()
    const confirm = await browser.submit(await browser.get(`${origin}/oauth/device`), { user_code })
    const form = await browser.submit(confirm)
    await browser.submit(form, { email: person.email, password: person.password })
    await login.ended
    expect(await login.first(/Logged in as (\S+)\./)).toBe(person.email)
    expect((await howdah(['logout'], env)).code).toBe(0)
  })

  test('makes a new key sign, and takes away what older ones signed', async () => {
    const before = await logIn(origin, person)
    const rotated = await howdah(['admin', 'key', 'rotate', '--distrust-old', '--data-dir', one.config.data_dir])
    expect(rotated).toMatchObject({ code: 0, stderr: '' })
    const kid = /^Key (\w+) signs/.exec(rotated.stdout)?.[1]
    await until(async () => (await info(one.server, before.access_token)) === 401)
    const { body: after } = await refresh(origin, before.refresh_token)
    expect(decodeProtectedHeader(after.access_token).kid).toBe(kid)
    expect(await info(one.server, after.access_token)).toBe(200)
  })

  test('gives out links for passwords', async () => {
    const settings = ['--data-dir', one.config.data_dir, '--public-url', origin]
    const reset = await howdah(['admin', 'user', 'reset-password', person.email, ...settings])
    expect(reset.stderr).toBe('')
    const page = await newBrowser().get(reset.stdout.trim())
    expect(page.text).toContain(person.email)
    const unknown = await howdah(['admin', 'user', 'reset-password', 'nobody@example.com', ...settings])
    expect(unknown.code).toBe(1)
    const made = await howdah(['admin', 'user', 'create', '--email', 'new@example.com', '--name', 'New', ...settings])
    expect(made.stdout).toMatch(/^\d+\n$/)
    const link = /http\S+/.exec(made.stderr)?.[0] ?? ''
    expect((await newBrowser().get(link)).text).toContain('new@example.com')
  })

  test('shuts a user out of everything, and lets them in again', async () => {
    const settings = ['--data-dir', one.config.data_dir, '--public-url', origin]
    const admin = (verb: string) => howdah(['admin', 'user', verb, out.email, ...settings])
    const out = await people.newPerson('admin')
    const { access_token, refresh_token } = await logIn(origin, out)
    const call = newCall(one.server.api_url, access_token)
    const tokens = `/projects/${one.project_id}/tokens`
    const { body: made } = await call<{ public_key: string; secret_key: string }>('POST', tokens, { name: 'kept' })
    const token = `${made.public_key}.${made.secret_key}`
    const { body: owned } = await call<{ id: string }>('POST', '/projects', { name: 'left behind' })
    const link = await people.newLink(out.user_id)
    const under_way = newBrowser()
    const enter = async (browser = newBrowser()) => {
      const { action, fields } = formIn(await browser.follow(await browser.get(askAs('howdah-console', origin).url)))
      return browser.post(action, { ...fields, email: out.email, password: out.password })
    }
    const proven = await enter(under_way)
    expect([await info(one.server, access_token), await info(other, token)]).toEqual([200, 200])

    const disabled = await admin('disable')
    expect(disabled).toMatchObject({ code: 0, stdout: `User ${out.email} is disabled.\n` })
    expect(disabled.stderr).toContain(`no owner of project ${owned.id} (left behind) can act now`)
    expect(disabled.stderr).not.toContain(one.project_id)
    for (const server of [one.server, other]) {
      for (const known of [access_token, token]) await until(async () => (await info(server, known)) === 401)
    }
    expect((await refresh(origin, refresh_token)).body.error).toBe('invalid_grant')
    expect((await newBrowser().get(link)).status).toBe(404)
    expect((await under_way.follow(proven)).location).toBeUndefined()
    expect((await enter()).status).toBe(403)
    const listed = await howdah(['admin', 'user', 'list', '--json', ...settings])
    const of = (all: { email: string }[]) => all.find(({ email }) => email === out.email)
    expect(of(JSON.parse(listed.stdout) as { email: string }[])).toMatchObject({ disabled_at: expect.any(String) })
    expect(await admin('reset-password')).toMatchObject({ code: 1, stderr: expect.stringContaining('is disabled') })

    expect(await admin('enable')).toMatchObject({ code: 0, stderr: '' })
    expect(await info(one.server, token)).toBe(200)
    expect(await info(one.server, access_token)).toBe(401)
    expect(await info(one.server, (await logIn(origin, out)).access_token)).toBe(200)
    const audit = newCall(one.server.api_url, one.token)
    const { body } = await audit<{ entries: AuditEntry[] }>(
      'GET',
      `/projects/${one.project_id}/audit?resource_id=${out.user_id}`,
    )
    const by = { email: 'operator', path: `/users/${out.user_id}/enableUser`, status: 200 }
    expect(body.entries).toMatchObject([{ ...by, endpoint: 'enableUser' }, { endpoint: 'disableUser' }])
    expect(body.entries.filter(({ user_id }) => user_id !== undefined)).toEqual([])
  })
})
