// What howdah login says when the server is silent, is none, or refuses: one line that tells what to do. The server here is a small one
// that answers what each test wants; logging in at a real one is in test/oauth.
import { once } from 'node:events'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { howdah } from '#test/e2e/howdah.ts'

type Answer = { status?: number; body: object | string }

let answers: Record<string, Answer> = {}
let listener: Server
let server: string
const home = newDataDir()

beforeAll(async () => {
  listener = createServer((request, response) => {
    const { status = 200, body } = answers[request.url ?? ''] ?? { status: 404, body: 'none' }
    const is_text = typeof body === 'string'
    response.writeHead(status, { 'content-type': is_text ? 'text/html' : 'application/json' })
    response.end(is_text ? body : JSON.stringify(body))
  }).listen(0, '127.0.0.1')
  await once(listener, 'listening')
  server = `http://127.0.0.1:${(listener.address() as AddressInfo).port}`
})

afterAll(async () => {
  listener?.close()
  listener?.closeAllConnections()
  await removeDataDir(home)
})

const logIn = (address: string) => howdah(['login', '--device', '--server', address], { XDG_CONFIG_HOME: home })

const description = '/oauth/.well-known/openid-configuration'
const described = () => ({
  [description]: {
    body: {
      issuer: `${server}/oauth`,
      token_endpoint: `${server}/token`,
      device_authorization_endpoint: `${server}/device`,
    },
  },
})
const device = { device_code: 'one', user_code: 'ABCD-EFGH', verification_uri: 'http://127.0.0.1/', interval: 0.01 }

test('a server that does not answer, or is no address, is told', async () => {
  const address = 'http://127.0.0.1:9'
  const silent = await logIn(address)
  expect(silent.stderr).toBe(`howdah: ${address} does not answer; is the server running? --server names another one\n`)
  expect(silent.code).toBe(1)
  const plain = await logIn(server.replace('http:', 'https:'))
  expect(plain.stderr).toContain(`speaks no TLS; is its address ${server}? --server names another one`)
  for (const wrong of ['nowhere', 'localhost:8080', 'ftp://127.0.0.1:9']) {
    const { code, stderr } = await logIn(wrong)
    expect(stderr).toBe(`howdah: "${wrong}" is no URL of a server, such as http://127.0.0.1:8080\n`)
    expect(code).toBe(2)
  }
})

test('a server that does not answer to a token is told, and one that a variable names wrongly', async () => {
  const files = ['sh', '-c', 'echo ABCDEFGHIJKL.x | "$@"', 'sh']
  const token = await howdah(
    ['login', '--with-token', '--server', 'http://127.0.0.1:9'],
    { XDG_CONFIG_HOME: home },
    files,
  )
  expect(token).toMatchObject({
    code: 1,
    stderr: 'howdah: http://127.0.0.1:9 does not answer; is the server running?\n',
  })
  const named = await howdah(['service', 'list'], { HOWDAH_SERVER: 'localhost:8080', HOWDAH_TOKEN: 'ABCDEFGHIJKL.x' })
  expect(named).toMatchObject({ code: 2, stderr: expect.stringContaining('"localhost:8080" is no URL of a server') })
})

test('what is no Howdah is told, with what it answers', async () => {
  for (const [answer, said] of [
    [{ status: 404, body: 'none' }, '404'],
    [{ status: 302, body: '' }, '302'],
    [{ body: '<html>' }, '200'],
    [{ body: {} }, 'no description of one'],
  ] as const) {
    answers = { [description]: answer }
    const { code, stderr } = await logIn(server)
    expect(stderr).toBe(`howdah: ${server} is no Howdah server: ${server}${description} answers ${said}\n`)
    expect(code).toBe(1)
  }
})

test('a refusal is told in the server’s words', async () => {
  const refusal = { error: 'invalid_client', error_description: 'this client is unknown' }
  const fault = { code: 'RATE_LIMITED', message: 'too many requests; wait a minute' }
  for (const [path, answer, said] of [
    ['/device', { status: 400, body: refusal }, 'this client is unknown'],
    ['/device', { status: 429, body: fault }, 'too many requests; wait a minute'],
    ['/token', { status: 400, body: { error: 'expired_token' } }, 'expired_token'],
    ['/token', { status: 500, body: '<html>' }, '500'],
  ] as const) {
    answers = { ...described(), '/device': { body: { ...device, expires_in: 600 } }, [path]: answer }
    expect((await logIn(server)).stderr).toBe(`howdah: the server refused the login: ${said}\n`)
  }
})

test('a code that is not typed in time is told, with what shows a new one', async () => {
  answers = {
    ...described(),
    '/device': { body: { ...device, expires_in: 0.05 } },
    '/token': { status: 400, body: { error: 'authorization_pending' } },
  }
  const { stdout, stderr } = await logIn(server)
  expect(stdout).toContain('ABCD-EFGH')
  expect(stderr).toBe('howdah: the code was not typed in time; howdah login --device shows a new one\n')
})
