// The howdah command as people type it: exit codes, messages without stacks, and the lives of tokens, projects, users.
import { spawnSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { AuditEntry } from '#contract/audit.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { newServicePorts } from '#test/ports.ts'
import { howdah, repository, type Started, startHowdah } from '#test/e2e/howdah.ts'
import { seedDataDir } from '#test/seed.ts'
import { until } from '#test/until.ts'

type Page = { entries: AuditEntry[] }

let data_dir = ''
let home = ''

beforeAll(() => {
  data_dir = newDataDir()
  home = newDataDir()
})

afterAll(async () => {
  await removeDataDir(data_dir)
  await removeDataDir(home)
})

test.each([
  [['frobnicate'], 'there is no command'],
  [['admin', 'token', 'create', '--name', '\n'], '--name must not contain control characters'],
  [['admin', 'user', 'create', '--email', 'x', '--name', 'X'], 'does not look like an e-mail'],
  [['start', '--port', 'x', '--region', 'A'], '--port must be'],
])('howdah %j is written wrongly: exit code 2 and no stack', async (words, message) => {
  const ran = await howdah(words)
  expect(ran).toMatchObject({ code: 2, stdout: '', stderr: expect.stringContaining(message) })
  expect(ran.stderr).not.toMatch(/^\s+at /m)
})

test.each([['status'], ['stop --all'], ['admin token list']])(
  'howdah %s where nothing is says so: exit code 1',
  async (words) => {
    const ran = await howdah([...words.split(' '), '--data-dir', data_dir])
    expect(ran).toMatchObject({ code: 1, stdout: '' })
    expect(ran.stderr).toBe(
      `howdah: there is no Howdah in ${data_dir}; make one with howdah start, or name another directory with --data-dir\n`,
    )
  },
)

test('help is the same wherever it is asked for', async () => {
  expect(await howdah(['stop', '--help'])).toEqual(await howdah(['help', 'stop']))
})

test('howdah works by a link from a folder of the PATH, wherever it is called', () => {
  symlinkSync(join(repository, 'bin', 'howdah'), join(home, 'howdah'))
  const env = { ...process.env, PATH: `${home}:${process.env['PATH']}` }
  const ran = spawnSync('howdah', ['version'], { cwd: home, env, encoding: 'utf8' })
  expect(ran.stdout).toMatch(/^\d+\.\d+\.\d+\n$/)
})

test('doctor works before anything is installed, and says what is missing', async () => {
  const { code, stdout } = await howdah(['doctor', '--json', '--data-dir', data_dir])
  expect(code).toBe(0)
  expect(JSON.parse(stdout)).toContainEqual(expect.objectContaining({ name: 'copy-on-write' }))
})

describe('on an installation', () => {
  let server: Started
  let place: string[] = []

  beforeAll(async () => {
    await seedDataDir(data_dir)
    const { first, last } = newServicePorts()
    place = ['--data-dir', data_dir, '--service-ports', `${first}-${last}`]
    server = await startHowdah(place)
  })

  const run = async (...words: string[]) => {
    const ran = await howdah([...words, ...place])
    // A new user's link is for people, beside the id for programs.
    expect(ran.stderr.replace(/^They choose a password here.*\n$/, '')).toBe('')
    return ran.stdout.trim()
  }
  const statusFor = async (token: string) =>
    (await fetch(`${server.url}/auth/info`, { headers: { authorization: `Bearer ${token}` } })).status

  test('a token is printed alone, works at once, is listed without its secret, and dies when revoked', async () => {
    const token = await run('admin', 'token', 'create', '--name', 'ci', '--expires-days', '30')
    const [public_key = '', secret_key = ''] = token.split('.')
    expect(await statusFor(token)).toBe(200)
    const listed = await run('admin', 'token', 'list', '--json')
    expect(JSON.parse(listed)).toContainEqual(expect.objectContaining({ name: 'ci', public_key }))
    expect(listed).not.toContain(secret_key)
    await run('admin', 'token', 'revoke', public_key)
    await until(async () => (await statusFor(token)) === 401)
    const again = await howdah(['admin', 'token', 'revoke', public_key, ...place])
    expect(again).toMatchObject({ code: 1, stderr: expect.stringContaining('there is no token') })
  })

  test('a project has an owner, a token for it once it is named, and an audit log of what the operator did', async () => {
    const project = await run('admin', 'project', 'create', '--name', 'second')
    expect(JSON.parse(await run('admin', 'project', 'list', '--json'))).toContainEqual(
      expect.objectContaining({ id: project, name: 'second' }),
    )
    const unclear = await howdah(['admin', 'token', 'create', '--name', 'x', ...place])
    expect(unclear).toMatchObject({ code: 1, stderr: expect.stringContaining('say which project') })
    const token = await run('admin', 'token', 'create', '--name', 'x', '--project', project)
    expect(await statusFor(token)).toBe(200)
    const email = 'eve@example.org'
    const user_id = await run('admin', 'user', 'create', '--email', email, '--name', 'Eve', '--project', project)
    const [revoked = ''] = (await run('admin', 'token', 'create', '--name', 'y', '--project', project)).split('.')
    await run('admin', 'token', 'revoke', revoked)
    const [public_key = ''] = token.split('.')
    const headers = { authorization: `Bearer ${token}` }
    const { entries } = (await (await fetch(`${server.url}/projects/${project}/audit`, { headers })).json()) as Page
    const by = { email: 'operator', client: 'cli', address: 'localhost', time: expect.any(String) }
    const at = `/projects/${project}`
    const expected = [
      { endpoint: 'revokeToken', method: 'DELETE', path: `${at}/tokens/${revoked}`, resource_id: revoked, status: 204 },
      { endpoint: 'createToken', method: 'POST', path: `${at}/tokens`, resource_id: revoked, status: 201 },
      { endpoint: 'addMember', method: 'POST', path: `${at}/members`, resource_id: user_id, status: 201 },
      { endpoint: 'createToken', method: 'POST', path: `${at}/tokens`, resource_id: public_key, status: 201 },
      { endpoint: 'createProject', method: 'POST', path: '/projects', resource_id: project, status: 201 },
    ]
    expect(entries).toEqual(
      expected.map((act) => ({ ...by, ...act, id: expect.any(String), request_id: expect.any(String) })),
    )
  })

  test('a user joins a project with a role, once', async () => {
    const [project] = JSON.parse(await run('admin', 'project', 'list', '--json')) as [{ id: string }]
    const words = ['admin', 'user', 'create', '--email', 'Ada@example.org', '--name', 'Ada', '--project', project.id]
    const id = await run(...words, '--role', 'viewer')
    expect(JSON.parse(await run('admin', 'user', 'list', '--json'))).toContainEqual(
      expect.objectContaining({ id, name: 'Ada' }),
    )
    const token = await run(
      'admin',
      'token',
      'create',
      '--name',
      'a',
      '--project',
      project.id,
      '--user',
      'ada@example.org',
    )
    const create = await fetch(`${server.url}/projects/${project.id}/services`, {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: '{"name":"x"}',
    })
    expect(create.status).toBe(403)
    const twice = await howdah([...words, ...place])
    expect(twice).toMatchObject({ code: 1, stderr: 'howdah: there is a user Ada@example.org already\n' })
  })

  test('a second server on the same port is refused in one line', async () => {
    const port = new URL(server.url).port
    const second = await howdah(['start', '--port', port, ...place])
    expect(second).toMatchObject({
      code: 1,
      stderr: expect.stringMatching(new RegExp(`port ${port} is in use: Howdah already runs at .*\\n$`)),
    })
  })

  test('a command that waits for the metadata store of DATABASE_URL says so', async () => {
    const silent = { DATABASE_URL: 'postgres://ada@127.0.0.1:9/none' }
    const told = 'Waiting for the metadata store: connect ECONNREFUSED 127.0.0.1:9\n'
    for (const words of [
      ['admin', 'token', 'list'],
      ['start', '--port', '0'],
    ]) {
      const ran = await howdah([...words, ...place], silent, [], (said) => said.includes(told))
      expect(ran).toMatchObject({ stdout: '', stderr: expect.stringContaining(told) })
    }
  })

  test('commands work without a server, and leave no store running that they started', async () => {
    await run('stop', '--all')
    expect(await run('admin', 'token', 'list')).toContain('first token')
    expect(JSON.parse(await run('status', '--json'))).toMatchObject({ servers: [], metadata_store: false })
  })

  test('a server that was killed does not stand in the way of status or the next start', async () => {
    server = await startHowdah(place)
    await server.end('SIGKILL')
    expect(JSON.parse(await run('status', '--json'))).toMatchObject({ servers: [] })
    server = await startHowdah(place)
    expect(await server.end('SIGINT')).toBe(0)
  })
})
