// Which server, as whom, about what: profiles, folders, variables, names; what is asked before it is done; and every exit code.
import { mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { leaveLogin } from '#cli/first-login.ts'
import { savePassword } from '#cli/user/pgpass.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { openCallers } from '#test/http/callers.ts'
import { startInRegion } from '#test/http/region.ts'
import { shared } from '#test/shared.ts'
import { howdahHere } from './user.ts'

const installation = shared(startInRegion)
const callers = shared(() => openCallers(installation))
let home = ''
const cwd = process.cwd()

beforeEach(() => {
  home = newDataDir()
  const files = { HOME: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home, PGPASSFILE: join(home, 'pgpass') }
  for (const [name, value] of Object.entries({ ...files, CI: '', HOWDAH_TOKEN: '', HOWDAH_SERVER: '' })) {
    vi.stubEnv(name, value)
  }
  process.chdir(home)
})

afterEach(async () => {
  vi.unstubAllEnvs()
  process.chdir(cwd)
  await removeDataDir(home)
})

const logInAs = (token: string, profile: string) =>
  leaveLoginOf(profile, { api_url: installation.server.api_url, token, project_id: installation.project_id })

async function leaveLoginOf(profile: string, made: Parameters<typeof leaveLogin>[0]) {
  expect(await leaveLogin(made)).toMatchObject({ profile })
}

describe('logins', () => {
  test('without one, the exit code is 4 and the message says how to get one', async () => {
    const ran = await howdahHere(['service', 'list'])
    expect(ran).toMatchObject({ code: 4, stderr: expect.stringContaining('howdah login') })
  })

  test('the first start’s is the default; a second server’s is another profile, which can be chosen', async () => {
    await logInAs(installation.token, 'default')
    await leaveLoginOf('local', { api_url: 'http://127.0.0.1:9/public/api/v1', token: 'K.s', project_id: 'p' })
    expect(statSync(join(home, 'howdah', 'credentials.json')).mode & 0o777).toBe(0o600)
    expect((await howdahHere(['service', 'list'])).code).toBe(0)
    expect((await howdahHere(['profile', 'use', 'local'])).code).toBe(0)
    expect(await howdahHere(['service', 'list'])).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('does not answer'),
    })
    expect((await howdahHere(['service', 'list', '--profile', 'default'])).code).toBe(0)
    const listed = JSON.parse((await howdahHere(['profile', 'list', '--json'])).stdout) as object
    expect(listed).toMatchObject([
      { name: 'default', in_use: false },
      { name: 'local', in_use: true },
    ])
    expect((await howdahHere(['profile', 'delete', 'local', '--yes'])).code).toBe(0)
    expect((await howdahHere(['service', 'list'])).code).toBe(0)
    expect((await howdahHere(['profile', 'use', 'local'])).code).toBe(6)
  })

  test('of a server that was made anew at the same address the old login is replaced', async () => {
    await logInAs('K.old', 'default')
    expect(await howdahHere(['service', 'list'])).toMatchObject({ code: 4 })
    await logInAs(installation.token, 'default')
    expect((await howdahHere(['service', 'list'])).code).toBe(0)
  })

  test('a token of the environment needs its server, and wins', async () => {
    await logInAs('K.old', 'default')
    vi.stubEnv('HOWDAH_TOKEN', installation.token)
    expect(await howdahHere(['service', 'list'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('HOWDAH_SERVER'),
    })
    vi.stubEnv('HOWDAH_SERVER', installation.server.url)
    for (const [text, code] of [
      [` ${installation.token.replace('.', ':')}\n`, 0],
      [installation.token.replace('.', '.\n'), 2],
      ['NOSUCHTOKEN.x', 4],
    ] as const) {
      vi.stubEnv('HOWDAH_TOKEN', text)
      const ran = await howdahHere(['service', 'list'])
      expect([text, ran.code]).toEqual([text, code])
      if (code !== 0) expect(ran.stderr).toContain('HOWDAH_TOKEN is n')
    }
    // A profile that is chosen comes instead, whatever the variable has.
    vi.stubEnv('HOWDAH_TOKEN', 'no token')
    const refused = await howdahHere(['service', 'list', '--profile', 'default'])
    expect(refused).toMatchObject({ code: 4, stderr: expect.stringContaining('howdah login makes a new one') })
    vi.stubEnv('HOWDAH_TOKEN', installation.token)
    expect((await howdahHere(['service', 'list'])).code).toBe(0)
    expect((await howdahHere(['whoami'])).stdout).toContain('admin@')
  })

  test('a server that the environment names without a token is asked with its own login, and no other server is', async () => {
    await logInAs(installation.token, 'default')
    vi.stubEnv('HOWDAH_SERVER', 'http://127.0.0.1:9')
    const ran = await howdahHere(['service', 'list'])
    expect(ran).toMatchObject({
      code: 4,
      stderr: expect.stringContaining(
        'no login at http://127.0.0.1:9, which HOWDAH_SERVER names; howdah login --server http://127.0.0.1:9 --profile 127.0.0.1:9',
      ),
    })
    await leaveLoginOf('local', { api_url: 'http://127.0.0.1:9/public/api/v1', token: 'K.s', project_id: 'p' })
    vi.stubEnv('HOWDAH_SERVER', installation.server.url)
    expect((await howdahHere(['profile', 'use', 'local'])).code).toBe(0)
    expect((await howdahHere(['service', 'list'])).code).toBe(0)
    expect((await howdahHere(['logout'])).code).toBe(0)
    const left = JSON.parse((await howdahHere(['profile', 'list', '--json'])).stdout) as object
    expect(left).toMatchObject([{ name: 'local' }])
  })

  test('a folder’s server gets no token of another server', async () => {
    await logInAs(installation.token, 'default')
    writeFileSync(join(home, '.howdah.json'), JSON.stringify({ server: 'http://127.0.0.1:9' }))
    const ran = await howdahHere(['service', 'list'])
    expect(ran).toMatchObject({ code: 4, stderr: expect.stringContaining('there is no login at http://127.0.0.1:9') })
  })
})

describe('what a command means', () => {
  const created = async (name: string, ...more: string[]) =>
    (await howdahHere(['service', 'create', name, ...more, '-o', 'name'])).stdout.trim()

  beforeEach(() => logInAs(installation.token, 'default'))

  test('two of one name are told apart by their ids; a name may look like an id', async () => {
    const ids = [await created('twin'), await created('twin')]
    const ran = await howdahHere(['service', 'get', 'twin'])
    expect(ran.code).toBe(3)
    for (const id of ids) expect(ran.stderr).toContain(id)
    const production = await created('production')
    expect((await howdahHere(['service', 'get', 'production', '-o', 'name'])).stdout.trim()).toBe(production)
    expect(await howdahHere(['service', 'get', 'nosuchid00'])).toMatchObject({ code: 6 })
    for (const id of [...ids, production]) expect((await howdahHere(['service', 'delete', id, '-y'])).code).toBe(0)
  })

  test('a service is chosen for a profile, for a folder, or by a variable', async () => {
    const [one, two] = [await created('one'), await created('two')]
    const chosen = async () => (await howdahHere(['service', 'get', '-o', 'name'])).stdout.trim()
    expect(await howdahHere(['service', 'get'])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('howdah use'),
    })
    expect((await howdahHere(['use', 'one'])).stdout).toBe(`one (${one}) is chosen.\n`)
    expect(await chosen()).toBe(one)
    expect((await howdahHere(['link', 'two'])).code).toBe(0)
    mkdirSync(join(home, 'below'))
    process.chdir(join(home, 'below'))
    expect(await chosen()).toBe(two)
    vi.stubEnv('HOWDAH_SERVICE', 'one')
    expect(await chosen()).toBe(one)
    vi.stubEnv('HOWDAH_SERVICE', 'nosuchid00')
    const gone = { code: 6, stderr: expect.stringContaining('howdah use <service> chooses another one') }
    expect(await howdahHere(['service', 'get'])).toMatchObject(gone)
    expect(await howdahHere(['service', 'connection-string'])).toMatchObject(gone)
    for (const named of [
      'service get nosuchid00',
      `api GET /projects/${installation.project_id}/services/nosuchid00`,
    ]) {
      expect((await howdahHere(named.split(' '))).stderr).toBe('howdah: no service with that id exists\n')
    }
    expect(JSON.parse(readFileSync(join(home, '.howdah.json'), 'utf8'))).toEqual({
      server: installation.server.url,
      project: installation.project_id,
      service: two,
    })
  })

  test('preferences are set and taken back', async () => {
    expect((await howdahHere(['config', 'set', 'output', 'yaml'])).code).toBe(0)
    expect((await howdahHere(['project', 'list'])).stdout).toMatch(/^- id: /)
    expect((await howdahHere(['config', 'list'])).stdout).toContain('output=yaml')
    expect((await howdahHere(['config', 'set', 'output'])).code).toBe(0)
    expect((await howdahHere(['config', 'get', 'output'])).code).toBe(1)
    for (const words of ['colour red', 'output xml', 'password_storage keychain'])
      expect((await howdahHere(['config', 'set', ...words.split(' ')])).code).toBe(2)
  })

  test('a removal is asked about, of a PROD service by its name; without a terminal it is refused', async () => {
    const id = await created('precious', '--environment', 'PROD')
    const remove = ['service', 'delete', 'precious']
    expect(await howdahHere(remove)).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
    const asked = await howdahHere(remove, ['y'])
    expect(asked).toMatchObject({ code: 2, stderr: expect.stringContaining('Type precious: ') })
    expect(await howdahHere(['service', 'stop', id])).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('PROD'),
    })
    expect((await howdahHere(['service', 'stop', id], ['y'])).stderr).toContain('precious: PAUSED')
    expect(await howdahHere(['link', id])).toMatchObject({ code: 2 })
    expect((await howdahHere(remove, ['precious'])).stderr).toContain('the service is protected from deletion')
    expect((await howdahHere(['service', 'set-protection', id, '--protected', 'no'])).code).toBe(0)
    expect((await howdahHere(remove, ['precious'])).stderr).toContain('removed')
    const test_service = await created('test')
    expect((await howdahHere(['service', 'stop', test_service])).code).toBe(0)
    expect((await howdahHere(['service', 'delete', 'test'], ['n'])).code).toBe(2)
    expect((await howdahHere(['service', 'delete', 'test'], ['y'])).code).toBe(0)
  })

  test('passwords are kept, replaced and printed as asked', async () => {
    const [host, port] = [await endpointOf(await created('kept')), await endpointOf(await created('other'))]
    const file = join(home, 'pgpass')
    expect(readFileSync(file, 'utf8').split('\n').filter(Boolean)).toHaveLength(2)
    expect(statSync(file).mode & 0o777).toBe(0o600)
    writeFileSync(file, `${readFileSync(file, 'utf8')}# mine\nelsewhere:1:*:me:secret\n`)
    const reset = await howdahHere(['service', 'reset-password', 'kept'])
    expect(reset.stdout).toMatch(/^[\w-]{32}\n$/)
    const lines = readFileSync(file, 'utf8').split('\n')
    expect(lines[0]).toBe(`${host}:*:tsdbadmin:${reset.stdout.trim()}`)
    expect(lines.filter((line) => line.startsWith(host))).toHaveLength(1)
    expect(lines).toEqual(expect.arrayContaining([expect.stringContaining(port), '# mine', 'elsewhere:1:*:me:secret']))
    const shown = await howdahHere([
      'service',
      'connection-string',
      'kept',
      '--with-password',
      '--format',
      'env',
      '--ca',
      '/ca',
    ])
    expect(shown.stdout).toContain(`PGSSLROOTCERT=/ca PGPASSWORD=${reset.stdout}`)
    const once = await howdahHere(['service', 'create', 'mine', '--password-storage', 'none'])
    expect(once.stdout).toMatch(/^[\w-]{32}\n$/)
    await savePassword({ host: 'a:b', port: 1, user: 'u\\' }, 'p:q')
    expect(readFileSync(file, 'utf8').split('\n')[0]).toBe(String.raw`a\:b:1:*:u\\:p\:q`)
  })

  const endpointOf = async (id: string) => {
    const { endpoint } = JSON.parse((await howdahHere(['service', 'get', id, '--json'])).stdout) as {
      endpoint: { host: string; port: number }
    }
    return `${endpoint.host}:${endpoint.port}`
  }

  test.each([
    ['service create shop --replicas 1 --sync 3', 3, '--sync: must be at most --replicas'],
    ['service create shop --cpu 3', 3, 'the sizes are'],
    ['service get nothing', 6, 'there is no service "nothing"'],
    ['service create shop --replicas many', 2, '--replicas must be a whole number'],
    ['service fork shop --now --last-snapshot', 2, 'are two moments'],
    ['service update-password shop --password secret', 2, 'other users of this machine see arguments'],
    ['project create more', 5, 'a personal access token is scoped to one project'],
    ['api GET http://127.0.0.1:9/', 2, 'the path begins with one /'],
    ['api GET /nothing', 6, 'nothing at this path'],
  ])('howdah %s: exit code %i', async (line, code, message) => {
    const ran = await howdahHere(line.split(' '))
    expect(ran.stderr).toContain(message)
    expect(ran.code).toBe(code)
  })

  test('a request as it is written, with members of the body or of the query', async () => {
    const path = `/projects/${installation.project_id}/services`
    const made = await howdahHere(['api', 'POST', path, '-f', 'name=raw', '-f', 'replica_count=0'])
    expect(JSON.parse(made.stdout)).toMatchObject({ name: 'raw', ha_replicas: { replica_count: 0 } })
    const read = await howdahHere(['api', 'get', `/projects/${installation.project_id}/audit`, '-f', 'limit=1'])
    expect((JSON.parse(read.stdout) as { entries: object[] }).entries).toHaveLength(1)
  })

  test('what a list or an answer is about is shown, and a link is whole', async () => {
    await created('measured')
    expect((await howdahHere(['service', 'metrics-available-series', 'measured'])).stdout).toMatch(/^connections$/m)
    const series = ['metrics-series', 'measured', '--name', 'connections', '--from', '1h ago', '--to', 'now']
    expect((await howdahHere(['service', ...series])).stdout).toContain('role=primary\n')
    expect((await howdahHere(['service', 'logs-histogram', 'measured'])).stdout).not.toContain('counts')
    const none = await howdahHere(['service', 'logs-histogram', 'measured', '--search', 'in no entry'])
    expect(none).toMatchObject({ code: 0, stdout: '' })
    expect((await howdahHere(['project', 'audit'])).stdout).toMatch(/ENDPOINT.*\n.* createService .* 20\d/)
    expect((await howdahHere(['member', 'add', '--email', 'new@example.com', '--role', 'viewer'])).code).toBe(0)
    const link = await howdahHere(['member', 'create-login-link', 'new@example.com'])
    expect(link.stdout).toMatch(/^http\S+\n$/)
    expect((await howdahHere(['member', 'delete', 'new@example.com', '--yes'])).code).toBe(0)
  })

  test('waiting ends as it was hoped, or says that it did not', async () => {
    await created('slow')
    expect((await howdahHere(['service', 'wait', 'slow', '--for', 'ready'])).code).toBe(0)
    expect((await howdahHere(['service', 'wait', 'slow', '--for', 'paused'])).code).toBe(8)
    expect((await howdahHere(['service', 'wait', 'nothing', '--for', 'gone'])).code).toBe(0)
    const elsewhere = ['service', 'create', 'never', '--region', 'elsewhere', '--timeout', '0s']
    const late = await howdahHere(elsewhere)
    expect(late).toMatchObject({ code: 7, stderr: expect.stringContaining('the work goes on') })
  })

  test('a viewer is told the role that is needed: exit code 5', async () => {
    const viewer = await callers.newToken('viewer')
    vi.stubEnv('HOWDAH_TOKEN', viewer.token)
    vi.stubEnv('HOWDAH_SERVER', installation.server.url)
    const ran = await howdahHere(['service', 'create', 'x'])
    expect(ran).toMatchObject({ code: 5, stderr: expect.stringContaining('this needs at least developer') })
  })
})
