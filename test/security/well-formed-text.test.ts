// Half a character and NUL are refused wherever text can be sent: stored, the one would become another text than the
// accepted one, and the other cannot be stored. Derived from the contract, so every endpoint to come is asked, too.
import type { TSchema } from 'typebox'
import { beforeAll, describe, expect, test } from 'vitest'
import type { Service } from '#contract/service.ts'
import { objectOf } from '#contract/openapi.ts'
import { openCallers, type TestToken, userCredential, userVerifier } from '#test/http/callers.ts'
import { pathOf, type Row, rows, valid_bodies } from '#test/http/requests.ts'
import { startInstallation } from '#test/installation.ts'
import { formIn, newBrowser } from '#test/oauth/browser.ts'
import { newCall } from '#test/call.ts'
import { shared } from '#test/shared.ts'

const installation = shared(() => startInstallation({ verifiers: [userVerifier] }))
const callers = shared(() => openCallers(installation))
let owner: TestToken

beforeAll(async () => {
  owner = await callers.newToken('owner')
})

const halves = [String.raw`\ud800`, String.raw`a\uDFFFb`, String.raw`\udc00\ud800`, String.raw`\ud83d\ud83d\ude00`]
const no_text = [...halves, String.raw`\u0000`, String.raw`a\u0000b`]
const refusal = 'must be well-formed Unicode without the character NUL'

const send = (row: Row, body: string | undefined, query = '') =>
  newCall(installation.server.api_url, userCredential(owner))(
    row.endpoint.method,
    pathOf(row, installation) + query,
    body,
  )

/** JSON with the half where a text may be; undefined where none may. */
function jsonOf(schema: TSchema, half: string): { json: string; below: string } | undefined {
  const types = 'type' in schema ? [schema.type].flat() : []
  if (types.includes('array') && 'items' in schema) {
    const item = jsonOf(schema.items as TSchema, half)
    return item && { json: `[${item.json}]`, below: `/0${item.below}` }
  }
  if (types.includes('object')) {
    const [name, member] = Object.entries(objectOf(schema).properties ?? {})[0] ?? []
    const inner = member && jsonOf(member, half)
    return inner && { json: `{"${name}":${inner.json}}`, below: `/${name}${inner.below}` }
  }
  return { json: `"${half}"`, below: '' }
}

const with_body = rows.filter(({ endpoint }) => endpoint.body !== undefined)
const with_query = rows.filter(({ endpoint }) => endpoint.query !== undefined)

describe.each(with_body)('the body of $name', (row) => {
  const fields = Object.entries(objectOf(row.endpoint.body).properties ?? {})

  test.each(fields)('has no half of a character and no NUL in %s', async (field, schema) => {
    for (const half of no_text) {
      const bad = jsonOf(schema, half)
      if (bad === undefined) throw new Error(`no text fits into ${field}`)
      const { [field]: _replaced, ...others } = valid_bodies[row.name] ?? {}
      const members = Object.entries(others).map(([name, value]) => `"${name}":${JSON.stringify(value)}`)
      const { status, body } = await send(row, `{${[...members, `"${field}":${bad.json}`].join(',')}}`)
      expect([status, body.code]).toEqual([400, 'INVALID_REQUEST'])
      expect(body.details?.split('\n')).toContain(`/${field}${bad.below}: ${refusal}`)
    }
  })
})

describe.each(with_query)('the query of $name', (row) => {
  const fields = Object.keys(objectOf(row.endpoint.query).properties ?? {})

  test.each(fields)('has no half of a character and no NUL in %s', async (field) => {
    for (const half of ['%ED%A0%80', 'a%ffb', '%C3', '%zz', '%', '%00', 'a%00b']) {
      const { status, body } = await send(row, undefined, `?${field}=${half}`)
      expect([half, status, body.code]).toEqual([half, 400, 'INVALID_REQUEST'])
      expect(body.details).toContain(`query/${field}: ${refusal}`)
    }
  })
})

test('every other wrong member is told in the same answer, and each once', async () => {
  const body = String.raw`{"name":"\ud800","environment_tag":"TEST","region_code":"\udfff","replica_count":"x"}`
  const row = rows.find(({ name }) => name === 'createService')
  if (row === undefined) throw new Error('createService is gone')
  const answer = await send(row, body)
  const told = answer.body.details?.split('\n').map((line) => line.split(':')[0])
  expect(told?.toSorted()).toEqual(['/environment_tag', '/name', '/region_code', '/replica_count'])
})

test('whole characters of every kind are taken, and come back as they were', async () => {
  const name = 'Éléphant 🐘 象 \u{10ffff}'
  const made = await installation.call<Service>('POST', installation.services, { name, cpu_millis: 'shared' })
  expect(made.status).toBe(202)
  const escaped = String.raw`{"name":"\ud83d\udc18"}`
  const renamed = await installation.call('POST', `${installation.services}/${made.body.service_id}/rename`, escaped)
  expect([made.body.name, renamed.body.name]).toEqual([name, '🐘'])
})

test('parameters that no schema knows are refused as such, whatever they hold', async () => {
  const answer = await installation.call('GET', '/projects?unknown=%zz&%ff')
  expect([answer.status, answer.body.code]).toEqual([400, 'INVALID_REQUEST'])
  expect(answer.body.details).toContain('query/unknown: is not a known query parameter')
})

test('deep nesting where a text belongs is refused, and no failure of ours', async () => {
  const deep = `{"name":${'['.repeat(30_000)}${']'.repeat(30_000)}}`
  const answer = await installation.call('POST', installation.services, deep)
  expect([answer.status, answer.body.code]).toEqual([400, 'INVALID_REQUEST'])
})

test('the fields of a page’s form are text, too', async () => {
  const origin = installation.server.public_url
  const browser = newBrowser()
  const { action, fields } = formIn(await browser.get(`${origin}/oauth/password`))
  const cookie = [...browser.cookies.values()].map(({ name, value }) => `${name}=${value}`).join('; ')
  const sent = `${new URLSearchParams({ ...fields, email: 'a@example.com', password: 'whatever it is' })}`
  const headers = { 'content-type': 'application/x-www-form-urlencoded', cookie, accept: 'text/html' }
  for (const half of ['%ED%A0%80 and more', '%ff%fe%fd%fc%fb%fa', 'long enough %', 'long enough %00']) {
    const body = `${sent}&new_password=${half}`
    const answer = await fetch(action, { method: 'POST', headers, body })
    expect(answer.status).toBe(400)
    expect(await answer.text()).toContain('new_password is not well-formed Unicode')
  }
})
