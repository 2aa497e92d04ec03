// The wire: headers, content types, empty bodies, limits and malformed HTTP, on a running server.
import { Ajv2020 } from 'ajv/dist/2020.js'
import { fullFormats } from 'ajv-formats/dist/formats.js'
import { once } from 'node:events'
import { connect, type Socket } from 'node:net'
import { beforeAll, describe, expect, test } from 'vitest'
import { api, base_path, type EndpointName } from '#contract/api.ts'
import { newClient } from '#contract/client.ts'
import type { Endpoint } from '#contract/endpoint.ts'
import { Fault, unknown_service } from '#contract/fault.ts'
import { plainSchema } from '#contract/openapi.ts'
import type { Service } from '#contract/service.ts'
import { shared } from '#test/shared.ts'
import { startInRegion } from './region.ts'
import { until } from '../until.ts'

const installation = shared(startInRegion)
let service: { service_id: string }
let at: string

beforeAll(async () => {
  service = await installation.createService()
  at = `${installation.services}/${service.service_id}`
})

describe('every answer', () => {
  test('has a request id: the caller’s own where it is harmless, else a new one', async () => {
    const { call } = installation
    const own = await call('GET', '/projects', undefined, { 'x-request-id': 'my-id/42' })
    expect(own.headers.get('x-request-id')).toBe('my-id/42')
    for (const bad of ['x'.repeat(129), 'with space', 'é']) {
      const answer = await call('GET', '/projects', undefined, { 'x-request-id': bad })
      expect(answer.headers.get('x-request-id')).toMatch(/^[0-9a-f-]{36}$/)
    }
    const answers = [
      await call('GET', '/nothing/here'),
      await call('PUT', '/projects'),
      await call('POST', installation.services, 'x'.repeat(100_000)),
      await call('POST', installation.services, '{'),
      await call('HEAD', '/projects'),
      await call('GET', '/projects', undefined, { authorization: 'Bearer wrong' }),
    ]
    const ids = answers.map((answer) => answer.headers.get('x-request-id'))
    for (const id of ids) expect(id).toMatch(/^[0-9a-f-]{36}$/)
    expect(new Set(ids).size).toBe(ids.length)
  })

  test('with a body is JSON, and is not cached', async () => {
    const { call } = installation
    for (const answer of [await call('GET', '/projects'), await call('GET', '/x'), await call('POST', '/projects')]) {
      expect(answer.headers.get('content-type')).toMatch(/^application\/json/)
      expect(answer.headers.get('cache-control')).toBe('no-store')
      expect(answer.headers.get('x-content-type-options')).toBe('nosniff')
    }
  })

  test('fits its schema, with no member that the schema does not name', async () => {
    const read: [EndpointName, string][] = [
      ['getAuthInfo', '/auth/info'],
      ['listProjects', '/projects'],
      ['listServices', installation.services],
      ['getService', at],
      ['listServiceEvents', `${at}/events`],
    ]
    const ajv = new Ajv2020({ allErrors: true, formats: { ...fullFormats, name: true, password: true } })
    for (const [name, path] of read) {
      const { output }: Endpoint = api[name]
      if (output === undefined) throw new Error(`${name} answers nothing`)
      const validate = ajv.compile(closed(plainSchema(output)))
      const { body } = await installation.call('GET', path)
      expect(validate(body) ? [] : validate.errors, name).toEqual([])
    }
  })
})

describe('a request without a body', () => {
  test.each([
    ['no content type', undefined, {}],
    ['JSON as its type and nothing in it', '', { 'content-type': 'application/json' }],
    ['another type and nothing in it', '', { 'content-type': 'text/plain' }],
    ['a type that is none', '', { 'content-type': 'nonsense' }],
    ['an empty object', '{}', { 'content-type': 'application/json' }],
    ['a body that is no JSON', '{"ignored":', { 'content-type': 'application/json' }],
    ['unexpected bytes', '\u0001\u0002', { 'content-type': 'application/octet-stream' }],
  ])('may have %s', async (_what, body, headers) => {
    const answer = await installation.call('POST', `${at}/start`, body, headers)
    expect(answer.body.code).toBe('WRONG_STATE')
    const gone = await installation.call('DELETE', `${installation.services}/nosuchid00`, body, headers)
    expect(gone.body.message).toBe(unknown_service)
  })

  test('is refused where a body is needed', async () => {
    for (const headers of [{}, { 'content-type': 'application/json' }]) {
      const answer = await installation.call('POST', `${at}/rename`, undefined, headers)
      expect([answer.status, answer.body.code]).toEqual([400, 'INVALID_REQUEST'])
      expect(answer.body.details).toBe('/: a JSON body is required')
    }
  })
})

test('an attack on prototypes is refused as any other member that is not known, and reaches nothing', async () => {
  const body = { name: 'test', constructor: { prototype: { polluted: 1 } } }
  const text = `{"__proto__":{"polluted":true},${JSON.stringify(body).slice(1)}`
  const answer = await installation.call('POST', `${at}/rename`, text)
  expect([answer.status, answer.body.code]).toEqual([400, 'INVALID_REQUEST'])
  const unknown = 'is not a known member; those that exist are name'
  expect(answer.body.details).toBe(`/__proto__: ${unknown}\n/constructor: ${unknown}`)
  expect(Object.prototype).not.toHaveProperty('polluted')
})

test('JSON may come with a charset, but must be UTF-8 and not compressed', async () => {
  const send = (body: Uint8Array<ArrayBuffer>, headers: Record<string, string>) =>
    fetch(`${installation.server.api_url}${at}/rename`, {
      method: 'POST',
      headers: { authorization: `Bearer ${installation.token}`, ...headers },
      body,
    })
  const bytes = new TextEncoder().encode('{"name":"test"}')
  const with_charset = await send(bytes, { 'content-type': 'Application/JSON; charset=utf-8' })
  expect(with_charset.status).toBe(200)
  const broken = await send(new Uint8Array([0x22, 0xff, 0xfe, 0x22]), { 'content-type': 'application/json' })
  expect(broken.status).toBe(400)
  const zipped = await send(bytes, { 'content-type': 'application/json', 'content-encoding': 'gzip' })
  expect(zipped.status).toBe(415)
})

test('HEAD answers like GET, without the body', async () => {
  const got = await installation.call('GET', '/auth/info')
  const head = await installation.call('HEAD', '/auth/info')
  expect([head.status, head.body]).toEqual([200, undefined])
  expect(head.headers.get('content-length')).toBe(String(JSON.stringify(got.body).length))
})

test('a malformed id is the id of nothing', async () => {
  const ids = ['x', 'UPPERCASE0', '%00', '%zz', '%', '..%2f', 'a'.repeat(3000), '%F0%9F%90%98', "'or'1'='1", '%ff%fe']
  for (const id of ids) {
    const answer = await installation.call('GET', `${installation.services}/${id}`)
    expect([answer.status, answer.body.message], id).toEqual([404, unknown_service])
  }
})

describe('what is hardly HTTP', () => {
  test.each([
    ['bytes of something else', '\u0016\u0003\u0001\u0000\r\n\r\n'],
    ['a head without end', `GET / HTTP/1.1\r\nHost: 127.0.0.1\r\nX-Long: ${'y'.repeat(20_000)}\r\n\r\n`],
    [
      'a URL of 9 KiB',
      `GET ${base_path}/${'z'.repeat(9 * 1024)} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n`,
    ],
    [
      'two lengths',
      `POST ${base_path}/projects HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\n`,
    ],
  ])('is refused as such: %s', async (_what, bytes) => {
    const answer = await sendRaw(bytes)
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toMatch(/\r\nx-request-id: \S+\r\n/i)
    expect(answer).toMatch(/\r\ncontent-type: application\/json/i)
    expect(answer).toContain('"code":"INVALID_REQUEST"')
  })

  test('HTTP without a Host header still gets an answer in the one shape', async () => {
    const answer = await sendRaw(`GET ${base_path}/projects HTTP/1.1\r\nConnection: close\r\n\r\n`)
    expect(answer).toMatch(/^HTTP\/1\.1 400 /)
    expect(answer).toContain('"code":"INVALID_REQUEST"')
  })

  test('a method that does not exist is refused as such', async () => {
    const answer = await sendRaw(`FROB ${base_path}/projects HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`)
    expect(answer).toMatch(/^HTTP\/1\.1 405 /)
    expect(answer).toContain('"code":"METHOD_NOT_ALLOWED"')
  })
})

describe('the typed client', () => {
  test('reads and writes, and throws what the server refuses', async () => {
    const client = newClient({ base_url: `${installation.server.api_url}/`, token: installation.token })
    const { project_id } = installation
    const [first] = await client.listProjects({})
    expect(first?.id).toBe(project_id)
    const renamed: Service = await client.renameService({ project_id, ...service, body: { name: 'renamed' } })
    expect(renamed.name).toBe('renamed')
    const message = await client.setEnvironment({ project_id, ...service, body: { environment: 'PROD' } })
    expect(message.message).toContain('PROD')
    const fault = await client.getService({ project_id, service_id: 'no/such?id' }).catch((error: unknown) => error)
    expect(fault).toBeInstanceOf(Fault)
    expect(fault).toMatchObject({ code: 'NOT_FOUND', message: unknown_service, status: 404 })
    expect(fault).toHaveProperty('request_id', expect.stringMatching(/^[0-9a-f-]{36}$/))
  })

  test('says so when something else answers', async () => {
    const client = newClient({
      base_url: installation.server.url,
      token: 'x',
      fetch: async () => new Response('<html>', { status: 502 }),
    })
    await expect(client.listProjects({})).rejects.toThrow(/did not come from this API/)
  })
})

test('a closing server ends idle connections at once and answers requests under way', async () => {
  const idle = connectRaw()
  const busy = connectRaw()
  const body = '{"name":"renamed while closing"}'
  await answered(idle, `GET /healthz HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`)
  const head = `POST ${base_path}${at}/rename HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${installation.token}\r\n`
  const begun = `${head}Content-Type: application/json\r\nContent-Length: ${body.length}\r\nExpect: 100-continue\r\n\r\n`
  expect(await answered(busy, begun)).toMatch(/^HTTP\/1\.1 100 /)
  const restarted = installation.restart()
  await once(idle.socket, 'close')
  busy.socket.write(body)
  await once(busy.socket, 'close')
  expect(busy.received()).toMatch(/HTTP\/1\.1 200 OK[^]*renamed while closing/)
  await restarted
  expect((await installation.call('GET', at)).body.name).toBe('renamed while closing')
})

/** The schema with every object closed, so that a member too many is an error. */
function closed(schema: object): object {
  const add = (_key: string, value: unknown) =>
    typeof value === 'object' && value !== null && 'properties' in value && !('additionalProperties' in value)
      ? { ...value, additionalProperties: false }
      : value
  return JSON.parse(JSON.stringify(schema, add))
}

async function sendRaw(bytes: string): Promise<string> {
  const { socket, received } = connectRaw()
  socket.write(bytes, 'latin1')
  await once(socket, 'close')
  return received()
}

type Raw = { socket: Socket; received: () => string }

function connectRaw(): Raw {
  const { hostname, port } = new URL(installation.server.url)
  const socket = connect(Number(port), hostname)
  const pieces: Buffer[] = []
  socket.on('data', (piece: Buffer) => pieces.push(piece))
  socket.on('error', () => undefined)
  return { socket, received: () => Buffer.concat(pieces).toString('latin1') }
}

/** Writes and waits for the first bytes that come back. */
async function answered({ socket, received }: Raw, bytes: string): Promise<string> {
  socket.write(bytes)
  return until(() => received())
}
