// The door of the server, as bytes: for whom it answers, how much it takes, and what it refuses before it reads on.
import { METHODS } from 'node:http'
import { hostname } from 'node:os'
import { beforeAll, describe, expect, test } from 'vitest'
import { base_path } from '#contract/api.ts'
import { newLog } from '#server/log.ts'
import { startServer } from '#server/main.ts'
import { newTestConfig, startInstallation } from '#test/installation.ts'
import { shared } from '#test/shared.ts'
import { until } from '#test/until.ts'
import { connectRaw, sendRaw } from './raw-http.ts'

const installation = shared(startInstallation)
let port: string

beforeAll(async () => {
  port = new URL(installation.server.url).port
})

const send = (bytes: string) => sendRaw(installation.server.url, bytes)

const routes = [
  '/',
  '/healthz',
  '/readyz',
  '/metrics',
  '/docs',
  '/nothing/here',
  '/oauth/auth',
  '/oauth/jwks',
  '/oauth/password',
  '/oauth/.well-known/openid-configuration',
  `${base_path}/openapi.json`,
  `${base_path}/ca.pem`,
  `${base_path}/projects`,
]

describe('a page that has pointed its own name at this machine', () => {
  test.each(routes)('gets nothing from %s', async (path) => {
    const names = [
      'evil.example',
      `evil.example:${port}`,
      '127.0.0.1.evil.example',
      'localhost.evil.example',
      'localhost@evil.example',
      'evil.example#localhost',
      'x.localhost',
      '192.0.2.1',
      '[2001:db8::1]',
      '',
      ' ',
      hostname(),
    ].filter((name) => name !== 'localhost')
    for (const name of names) {
      const answer = await send(
        `GET ${path} HTTP/1.1\r\nHost: ${name}\r\nAuthorization: Bearer ${installation.token}\r\n\r\n`,
      )
      expect([name, answer.status]).toEqual([name, 400])
      expect(answer.body).toContain('"code":"INVALID_REQUEST"')
      expect(answer.body).not.toContain('evil')
      expect(answer.headers.get('x-request-id')).toBeTruthy()
    }
  })

  test('and a form sent to it is not read either', async () => {
    const head = `POST /oauth/token HTTP/1.1\r\nHost: evil.example\r\nContent-Length: 0\r\n\r\n`
    expect((await send(head)).status).toBe(400)
  })
})

test('the names of this machine’s own interface are answered, whatever the port', async () => {
  for (const name of ['127.0.0.1', 'localhost', 'LocalHost:1', '[::1]', '127.1.2.3', `127.0.0.1:${port}`]) {
    const answer = await send(`GET /healthz HTTP/1.1\r\nHost: ${name}\r\n\r\n`)
    expect([name, answer.status]).toEqual([name, 200])
  }
})

test('the public address is answered, and the address that it listens on', async () => {
  const config = newTestConfig({ ...installation.config, public_url: 'https://howdah.example.com', host: '0.0.0.0' })
  const server = await startServer(config, { log: newLog('silent') })
  try {
    const at = `http://127.0.0.1:${new URL(server.url).port}`
    const ask = async (name: string) => (await sendRaw(at, `GET /healthz HTTP/1.1\r\nHost: ${name}\r\n\r\n`)).status
    expect(await ask('howdah.example.com')).toBe(200)
    expect(await ask('HOWDAH.example.com:443')).toBe(200)
    expect(await ask('0.0.0.0:8080')).toBe(200)
    expect(await ask('example.com')).toBe(400)
  } finally {
    await server.close()
  }
})

test.each([
  ['no Host', ''],
  ['two Hosts', 'Host: 127.0.0.1\r\nHost: 127.0.0.1\r\n'],
  ['two Hosts, of which one is evil', 'Host: 127.0.0.1\r\nhost: evil.example\r\n'],
])('a request with %s is refused', async (_what, hosts) => {
  for (const path of routes) {
    const answer = await send(`GET ${path} HTTP/1.1\r\n${hosts}\r\n`)
    expect([path, answer.status]).toEqual([path, 400])
    expect(answer.body).toContain('Host')
  }
})

describe('a body that is declared larger than any may be', () => {
  const head = (method: string, path: string, bytes: number, more = '') =>
    `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: ${bytes}\r\n${more}\r\n`
  const credential = () => `Authorization: Bearer ${installation.token}\r\n`

  const refused = (): [what: string, bytes: string, status: number][] => {
    const services = base_path + installation.services
    return [
      ['where a body is read', head('POST', services, 99_999_999_999, credential()), 413],
      ['one byte too many', head('POST', services, 65_537, credential()), 413],
      ['where none is read', head('POST', `${services}/nosuchid00/stop`, 99_999_999_999, credential()), 413],
      ['of a GET', head('GET', services, 99_999_999_999, credential()), 413],
      ['of a stranger', head('POST', services, 99_999_999_999), 401],
      ['to nowhere', head('POST', '/nothing', 99_999_999_999), 404],
      ['to the authorization server', head('POST', '/oauth/token', 99_999_999_999), 413],
      ['to a page', head('POST', '/oauth/password', 99_999_999_999), 413],
      ['to the documentation', head('GET', '/docs', 99_999_999_999), 413],
    ]
  }

  test('is answered before it comes, and the connection ends', async () => {
    for (const [what, bytes, status] of refused()) {
      const connection = connectRaw(installation.server.url)
      connection.socket.write(`${bytes}{"name":`)
      const answer = await connection.answer()
      expect([what, answer.status, answer.headers.get('connection')]).toEqual([what, status, 'close'])
      await connection.closed()
    }
  })

  test('is answered also while its sender goes on sending', async () => {
    const { socket, answer, closed } = connectRaw(installation.server.url)
    socket.write(head('POST', base_path + installation.services, 99_999_999_999, credential()))
    const more = () => void (socket.writable && socket.write(Buffer.alloc(256 * 1024), more))
    more()
    expect((await answer()).status).toBe(413)
    await closed()
  })

  test('a body without a declared length ends the connection when it is too long', async () => {
    const { socket, answer, closed } = connectRaw(installation.server.url)
    const declared = `Transfer-Encoding: chunked\r\n${credential()}`
    socket.write(
      `POST ${base_path}${installation.services} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n${declared}\r\n`,
    )
    const chunk = Buffer.concat([Buffer.from('40000\r\n'), Buffer.alloc(0x40000), Buffer.from('\r\n')])
    const more = () => void (socket.writable && socket.write(chunk, more))
    more()
    expect((await answer()).status).toBe(413)
    await closed()
  })
})

test('the refusal to delete the last snapshot is named by the OpenAPI document', async () => {
  const { service_id } = await installation.createService({ cpu_millis: 'shared' })
  const snapshots = `${installation.services}/${service_id}/snapshots`
  const snapshot = await until(async () => {
    const { body } = await installation.call<{ id: string; status: string }[]>('GET', snapshots)
    return body.find(({ status }) => status === 'complete')
  })
  const { status } = await installation.call('DELETE', `${snapshots}/${snapshot.id}`)
  expect(status).toBe(409)
  type Document = { paths: Record<string, { delete?: { responses: object } }> }
  const { body } = await installation.call<Document>('GET', '/openapi.json')
  const path = '/projects/{project_id}/services/{service_id}/snapshots/{snapshot_id}'
  expect(body.paths[path]?.delete?.responses).toHaveProperty(String(status))
})

describe('a method that there is not', () => {
  const paths = [
    '/healthz',
    '/docs',
    '/oauth/token',
    '/oauth/jwks',
    `${base_path}/openapi.json`,
    `${base_path}/projects`,
  ]

  test.each(['FROB', 'get', 'X-Y', 'BREW'])('%s is told which there are', async (method) => {
    for (const path of paths) {
      const answer = await send(`${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`)
      expect([path, answer.status]).toEqual([path, 405])
      expect(answer.headers.get('allow')).toBe('GET, HEAD, POST, DELETE')
      expect(answer.body).toContain('"code":"METHOD_NOT_ALLOWED"')
      expect(answer.headers.get('x-request-id')).toBeTruthy()
    }
  })

  const known = new Set(['GET', 'HEAD', 'POST', 'DELETE', 'CONNECT'])
  test.each(METHODS.filter((method) => !known.has(method)))('%s is told what the path accepts', async (method) => {
    for (const path of paths) {
      const answer = await send(
        `${method} ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nAuthorization: Bearer ${installation.token}\r\n\r\n`,
      )
      expect([path, answer.status]).toEqual([path, 405])
      expect(answer.headers.get('allow')).toMatch(/^(GET, HEAD|GET, HEAD, POST|POST)$/)
    }
  })
})
