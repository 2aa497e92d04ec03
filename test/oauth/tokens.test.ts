// Access tokens as credentials, whatever is wrong with them; the keys that sign them, also while they change; and
// devices, which get theirs without a browser of their own.
import fc from 'fast-check'
import { decodeJwt, decodeProtectedHeader, generateKeyPair, importJWK, type JWTPayload, SignJWT } from 'jose'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, test } from 'vitest'
import { openInstallation } from '#server/installation.ts'
import { newKeys, removeRetiredKeys, rotateKey } from '#server/oauth/keys.ts'
import { openSecret } from '#server/secret.ts'
import { newCall } from '#test/call.ts'
import { startInstallation } from '#test/installation.ts'
import { shared } from '#test/shared.ts'
import { until } from '#test/until.ts'
import { formIn, newBrowser } from './browser.ts'
import { logIn, openPeople, type Person, type Tokens, postToken, refresh } from './people.ts'

const installation = shared(startInstallation)
const people = shared(() => openPeople(installation))
let person: Person
let origin: string
let login: Tokens

beforeAll(async () => {
  person = await people.newPerson()
  origin = installation.server.public_url
  login = await logIn(origin, person)
})

const info = async (access_token: string) =>
  (await newCall(installation.server.api_url, access_token)('GET', '/auth/info')).status

async function openKeyPlace() {
  const { installation_id, data_dir } = await openInstallation(installation.config.data_dir)
  return { db: people.db, installation_id, secret: await openSecret(data_dir) }
}

/** Signs what the server would sign, with changes. */
async function forge(changes: { payload?: JWTPayload; header?: object; key?: CryptoKey } = {}): Promise<string> {
  const { access_token } = login
  const { private_jwk } = await newKeys(await openKeyPlace()).signing()
  const header = { ...decodeProtectedHeader(access_token), ...changes.header }
  const payload = { ...decodeJwt(access_token), ...changes.payload }
  const given = Object.fromEntries(Object.entries(payload).filter(([, value]) => value !== undefined))
  return new SignJWT(given)
    .setProtectedHeader(header as { alg: string })
    .sign(changes.key ?? (await importJWK(private_jwk, 'ES256')))
}

describe('a token is refused', () => {
  const now = () => Math.floor(Date.now() / 1000)
  const wrong: [what: string, payload: () => JWTPayload][] = [
    ['of another issuer', () => ({ iss: 'https://evil.example' })],
    ['of our issuer’s origin alone', () => ({ iss: origin })],
    ['for another audience', () => ({ aud: 'https://evil.example' })],
    ['for a client', () => ({ aud: 'howdah-cli' })],
    ['that has expired', () => ({ exp: now() - 120 })],
    ['that never expires', () => ({ exp: undefined as unknown as number })],
    ['that is not valid yet', () => ({ nbf: now() + 600 })],
    ['of no user', () => ({ sub: '999999' })],
    ['of a subject that is no user id', () => ({ sub: "1' or '1'='1" })],
    ['of another user’s login', () => ({ sub: '1000' })],
    ['of a login that never was', () => ({ grant: 'x'.repeat(43) })],
    ['without a login', () => ({ grant: undefined })],
    ['without the API’s scope', () => ({ scope: 'openid' })],
  ]
  test.each(wrong)('%s', async (_what, payload) => {
    expect(await info(await forge({ payload: payload() }))).toBe(401)
  })

  test('signed by another key, under our key’s name or its own', async () => {
    const { privateKey: key } = await generateKeyPair('ES256')
    expect(await info(await forge({ key }))).toBe(401)
    expect(await info(await forge({ key, header: { kid: 'unknown' } }))).toBe(401)
    expect(await info(await forge({ key, header: { jwk: { kty: 'EC' }, jku: 'https://evil.example' } }))).toBe(401)
  })

  test('with another algorithm: none, a shared secret, RSA', async () => {
    const { access_token } = login
    const [header = '', payload = ''] = access_token.split('.')
    const { kid } = decodeProtectedHeader(access_token)
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
    for (const alg of ['none', 'None', 'NONE', '']) {
      expect(await info(`${encode({ alg, kid, typ: 'at+jwt' })}.${payload}.`)).toBe(401)
      expect(await info(`${encode({ alg, kid, typ: 'at+jwt' })}.${payload}.AAAA`)).toBe(401)
    }
    // The public key as the secret of an HMAC.
    const [jwk] = ((await (await fetch(`${origin}/oauth/jwks`)).json()) as { keys: object[] }).keys
    const hmac = new SignJWT(decodeJwt(access_token)).setProtectedHeader({
      alg: 'HS256',
      kid: kid ?? '',
      typ: 'at+jwt',
    })
    expect(await info(await hmac.sign(Buffer.from(JSON.stringify(jwk))))).toBe(401)
    const rsa = await generateKeyPair('RS256')
    expect(await info(await forge({ key: rsa.privateKey, header: { alg: 'RS256' } }))).toBe(401)
    expect(header).toBeTruthy()
  })

  test('that is an ID token, or of another type', async () => {
    expect(await info(login.id_token ?? '')).toBe(401)
    expect(await info(await forge({ header: { typ: 'JWT' } }))).toBe(401)
  })

  test('however its bytes are bent', async () => {
    const { access_token } = login
    expect(await info(access_token)).toBe(200)
    const [header = '', payload = '', signature = ''] = access_token.split('.')
    const bent = fc.oneof(
      fc.nat(access_token.length - 1).map((end) => access_token.slice(0, end)),
      fc
        .tuple(fc.nat(header.length + payload.length), fc.constantFrom('A', 'b', '_', '.', '-'))
        .map(([at, letter]) => access_token.slice(0, at) + letter + access_token.slice(at + 1))
        .filter((token) => token !== access_token),
      fc.json().map((json) => `${Buffer.from(json).toString('base64url')}.${payload}.${signature}`),
      fc.json().map((json) => `${header}.${Buffer.from(json).toString('base64url')}.${signature}`),
      fc
        .uint8Array({ maxLength: 100 })
        .map((bytes) => `${header}.${payload}.${Buffer.from(bytes).toString('base64url')}`),
      fc.uint8Array({ maxLength: 300 }).map((bytes) => `a.${Buffer.from(bytes).toString('base64url')}.b`),
    )
    await fc.assert(
      fc.asyncProperty(bent, async (token) => {
        expect(await info(token)).toBe(401)
      }),
      { numRuns: 150, seed: 20261115 },
    )
  })
})

test('clocks may differ by a minute', async () => {
  const now = Math.floor(Date.now() / 1000)
  expect(await info(await forge({ payload: { exp: now - 30 } }))).toBe(200)
  expect(await info(await forge({ payload: { iat: now + 50, nbf: now + 50 } }))).toBe(200)
})

describe('keys', () => {
  test('what an old key signed stays good while a new one signs', async () => {
    const before = await logIn(origin, person)
    const old_kid = decodeProtectedHeader(before.access_token).kid
    const made = await rotateKey(await openKeyPlace(), 'at once')
    const after = await until(async () => {
      const tokens = await logIn(origin, person)
      return decodeProtectedHeader(tokens.access_token).kid === made.kid && tokens
    })
    expect(made.kid).not.toBe(old_kid)
    expect(await info(before.access_token)).toBe(200)
    expect(await info(after.access_token)).toBe(200)
    expect((await refresh(origin, before.refresh_token)).status).toBe(200)
    const { keys } = (await (await fetch(`${origin}/oauth/jwks`)).json()) as { keys: { kid: string; d?: string }[] }
    expect(keys.map(({ kid }) => kid)).toEqual(expect.arrayContaining([old_kid, made.kid]))
    expect(keys.some((key) => 'd' in key)).toBe(false)
  })

  test('what the operator does with keys is in the audit log', async () => {
    const { kid: old_kid } = await rotateKey(await openKeyPlace(), 'at once')
    const { kid } = await rotateKey(await openKeyPlace(), 'at once')
    expect(await removeRetiredKeys(await openKeyPlace())).toBeGreaterThan(0)
    const acts = await people.db.query(
      'select endpoint, resource_id from audit where email = $1 and resource_id in ($2, $3) order by id',
      ['operator', old_kid, kid],
    )
    expect(acts).toEqual([
      { endpoint: 'rotateKey', resource_id: old_kid },
      { endpoint: 'rotateKey', resource_id: kid },
      { endpoint: 'removeKey', resource_id: old_kid },
    ])
  })

  test('a key that is taken away ends what it signed', async () => {
    const { access_token } = await logIn(origin, person)
    await people.db.query('delete from oauth_keys where kid = $1', [decodeProtectedHeader(access_token).kid])
    await until(async () => (await info(access_token)) === 401)
    await until(async () => (await info((await logIn(origin, person)).access_token)) === 200)
  })

  test('the secret that seals them is its owner’s alone, and another one opens nothing', async () => {
    const file = join(installation.config.data_dir, 'secret.key')
    expect(statSync(file).mode & 0o777).toBe(0o600)
    expect(readFileSync(file, 'utf8')).toMatch(/^[\w-]{43}\n$/)
    const { secret } = await openKeyPlace()
    const sealed = secret.seal('text', 'label')
    expect(secret.open(sealed, 'label')).toBe('text')
    expect(secret.open(sealed, 'another label')).toBeUndefined()
    expect(secret.open(sealed.subarray(0, 20), 'label')).toBeUndefined()
    expect(sealed.includes('text')).toBe(false)
  })
})

describe('devices', () => {
  type DeviceAnswer = { device_code: string; user_code: string; verification_uri_complete: string; interval?: number }
  const device_grant = 'urn:ietf:params:oauth:grant-type:device_code'

  async function askForDevice(): Promise<DeviceAnswer> {
    const { body } = await postToken(origin, { client_id: 'howdah-cli', scope: 'api' }, 'device/auth')
    return body as unknown as DeviceAnswer // by RFC 8628
  }
  const poll = ({ device_code }: DeviceAnswer) =>
    postToken(origin, { grant_type: device_grant, client_id: 'howdah-cli', device_code })

  test('a user logs a device in by typing its code elsewhere', async () => {
    const person = await people.newPerson()
    const device = await askForDevice()
    expect((await poll(device)).body.error).toBe('authorization_pending')
    const browser = newBrowser()
    const typed = await browser.get(device.verification_uri_complete)
    expect(formIn(typed).fields['user_code']).toBe(device.user_code)
    const confirm = await browser.submit(typed)
    expect(confirm.text).toContain(device.user_code)
    const login = await browser.submit(confirm)
    const done = await browser.submit(login, { email: person.email, password: person.password })
    expect(done.text).toContain('You are logged in')
    const { body } = await poll(device)
    expect((await newCall(installation.server.api_url, body.access_token)('GET', '/auth/info')).status).toBe(200)
    const next = await refresh(origin, body.refresh_token, 'howdah-cli')
    expect(next.status).toBe(200)
    // A device code that comes twice was stolen.
    expect((await poll(device)).status).toBe(400)
    expect((await refresh(origin, next.body.refresh_token, 'howdah-cli')).status).toBe(400)
  })

  test('a refused device gets nothing, and a wrong code says so', async () => {
    const device = await askForDevice()
    const browser = newBrowser()
    const wrong = await browser.submit(await browser.get(`${origin}/oauth/device`), { user_code: 'BBBB-BBBB' })
    expect(wrong.text).toContain('That code is wrong')
    const confirm = await browser.submit(await browser.get(device.verification_uri_complete))
    const refused = await browser.submit(confirm, { abort: 'yes' })
    expect(refused.text).toContain('The login was refused')
    expect((await poll(device)).body.error).toBe('access_denied')
  })
})
