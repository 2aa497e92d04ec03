// What people do with a real database: psql, connection strings, and a log that is followed over a server that is started anew.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import { join } from 'node:path'
import { runInNewContext } from 'node:vm'
import pg from 'pg'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { leaveLogin } from '#cli/first-login.ts'
import { connectionLine, connectionOf } from '#contract/connection.ts'
import type { LogEntry } from '#contract/log.ts'
import type { Service } from '#contract/service.ts'
import { isAtLeast } from '#providers/postgres/pooler-settings.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { howdah, repository } from '#test/e2e/howdah.ts'
import { startInstallation, type TestInstallation } from '#test/installation.ts'
import { pooler_version, why_no_pooler } from '#test/pooler/pooled.ts'
import { newServicePorts } from '#test/ports.ts'
import { until } from '#test/until.ts'
import { languages, usersBy } from './languages.ts'

let installation: TestInstallation
let home = ''
let env: Record<string, string> = {}

beforeAll(async () => {
  home = newDataDir()
  installation = await startInstallation({ config: { port: newServicePorts().first } })
  env = { HOME: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home, PGPASSFILE: join(home, 'pgpass') }
  vi.stubEnv('XDG_CONFIG_HOME', home)
  const { server, token, project_id } = installation
  await leaveLogin({ api_url: server.api_url, token, project_id })
  vi.unstubAllEnvs()
  const made = await howdah(['service', 'create', 'shop'], env)
  expect(made.code, made.stderr).toBe(0)
})

afterAll(async () => {
  await installation?.stop()
  await removeDataDir(home)
})

const has_psql = spawnSync('psql', ['--version']).error === undefined
const why = has_psql ? '' : ' (skipped: psql is not installed)'
const psql = (words: readonly string[], ...args: string[]) =>
  howdah(['service', 'psql', 'shop', ...words, '--', '-XAt', ...args], env)

test.skipIf(why)(
  `psql logs in by what create kept, over TLS that is verified, and its exit code is passed on${why}`,
  async () => {
    const ran = await psql([], '-c', 'select current_user, ssl from pg_stat_ssl where pid = pg_backend_pid()')
    expect(ran).toMatchObject({ code: 0, stdout: 'tsdbadmin|t\n', stderr: '' })
    expect((await psql([], '-c', 'select 1/0')).code).toBe(1)
    const arguments_of_psql = await psql([], '-c', String.raw`\! tr '\0' ' ' < /proc/$PPID/cmdline`)
    expect(arguments_of_psql.stdout).toMatch(/^\S*psql -XAt -c \\! /)
    const shown = await psql([], '-c', 'show default_transaction_read_only')
    const read_only = await psql(['--read-only'], '-c', 'show default_transaction_read_only')
    expect([shown.stdout, read_only.stdout]).toEqual(['off\n', 'on\n'])
  },
)

test.skipIf(why)(`where psql has no connection it is said that the service is stopped${why}`, async () => {
  expect((await howdah(['service', 'create', 'asleep'], env)).code).toBe(0)
  expect((await howdah(['service', 'stop', 'asleep'], env)).code).toBe(0)
  const ran = await howdah(['service', 'psql', 'asleep', '--', '-c', 'select 1'], env)
  expect(ran.code).toBe(2)
  expect(ran.stderr).toMatch(/\nasleep is PAUSED; howdah service start \w{10} starts it\n$/)
})

test('of a fork that is closed it is not said how to connect', async () => {
  const ran = await howdah(['service', 'fork', 'shop', '--name', 'closed', '--mask', 'no sql'], env)
  expect(ran).toMatchObject({ code: 8, stdout: expect.stringMatching(/^postgresql:/) })
  expect(ran.stderr).toMatch(/closed: UNSTABLE, the mask failed.*\nThe password is in \S+\.\n$/)
})

test('a psql that is only Debian’s wrapper is recognised', async () => {
  const path = join(home, 'broken')
  mkdirSync(path)
  writeFileSync(
    join(path, 'psql'),
    '#!/bin/sh\necho "Error: You must install at least one client package" >&2\nexit 1\n',
  )
  chmodSync(join(path, 'psql'), 0o755)
  const ran = await howdah(['service', 'psql', 'shop'], { ...env, PATH: `${path}:${process.env['PATH']}` })
  expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining('apt-get install postgresql-client') })
})

test.skipIf(why)(`each address has its own line, and psql understands it${why}`, async () => {
  const refused = await howdah(['service', 'psql', 'shop', '--pooled'], env)
  expect(refused).toMatchObject({ code: 1, stderr: expect.stringContaining('enable-pooler shop') })
  const uri = (await howdah(['service', 'connection-string', 'shop', '--with-password'], env)).stdout.trim()
  const line = (await howdah(['service', 'connection-string', 'shop', '--format', 'psql'], env)).stdout.trim()
  const by_uri = spawnSync('psql', ['-XAt', uri, '-c', 'select 7'], { encoding: 'utf8' })
  expect(by_uri.stdout).toBe('7\n')
  const by_line = spawnSync('sh', ['-c', `${line} -XAt -c 'select 8'`], {
    encoding: 'utf8',
    env: { ...process.env, ...env },
  })
  expect(by_line.stdout, by_line.stderr).toBe('8\n')
})

const why_not_pooled = why || why_no_pooler

test.skipIf(why_not_pooled)(`psql goes through the pooler and to a replica set${why_not_pooled}`, async () => {
  for (const words of ['service enable-pooler shop', 'replica-set create shop readers --nodes 1 --cpu 500']) {
    const ran = await howdah(words.split(' '), env)
    expect(ran.code, ran.stderr).toBe(0)
  }
  const { connection_pooler } = JSON.parse((await howdah(['service', 'get', 'shop', '--json'], env)).stdout) as Service
  const pooled = await psql(['--pooled'], '-c', String.raw`\echo :PORT`)
  expect(pooled.stdout).toBe(`${connection_pooler?.endpoint.port}\n`)
  expect((await psql(['--pooled=transaction'], '-c', 'select 5')).stdout).toBe('5\n')
  const read_only = await psql(['--pooled', '--read-only'], '-c', 'show transaction_read_only')
  expect(read_only).toMatchObject(
    isAtLeast(pooler_version, '1.20')
      ? { code: 0, stdout: 'on\n' }
      : { code: 2, stderr: expect.stringContaining('without --pooled psql goes to') },
  )
  expect((await psql(['--replica', 'readers'], '-c', 'select pg_is_in_recovery()')).stdout).toBe('t\n')
})

test.skipIf(why_not_pooled)(
  `the lines of Prisma and of Node lead through the pooler and past it${why_not_pooled}`,
  async () => {
    const words = 'service connection-string shop --format prisma --pooled=transaction --with-password'
    const { stdout } = await howdah(words.split(' '), env)
    const found = [...stdout.matchAll(/^(\w+)="(.*)"$/gm)].map(([, name, url = '']) => ({ name, url: new URL(url) }))
    expect(found.map(({ name, url }) => [name, url.pathname, url.searchParams.get('pgbouncer')])).toEqual([
      ['DATABASE_URL', '/tsdb_transaction', 'true'],
      ['DIRECT_URL', '/tsdb', null],
    ])
    for (const { url } of found) {
      const { hostname: host, port, pathname, username: user, password, searchParams } = url
      expect(searchParams.get('sslaccept')).toBe('strict')
      const ssl = { ca: readFileSync(searchParams.get('sslcert') ?? '') }
      const at = { host, port: Number(port), database: pathname.slice(1) }
      expect(await userAt(new pg.Client({ ...at, user, password, ssl }))).toBe('tsdbadmin')
    }
    const { body } = await installation.call<Service[]>('GET', `${installation.services}?name=shop`)
    const { password = '', searchParams } = found[0]?.url ?? {}
    for (const pooled of [undefined, 'session', 'transaction'] as const) {
      const connection = body[0] && connectionOf(body[0], { pooled })
      const ca = searchParams?.get('sslcert') ?? ''
      const line = connection === undefined ? '' : connectionLine(connection, 'node', { password, ca })
      // It is what the line makes.
      expect(await userAt(runInNewContext(line, { pg, readFileSync }) as pg.Client)).toBe('tsdbadmin')
    }
  },
)

for (const language of languages) {
  const why_not = why_not_pooled || language.missing
  test.skipIf(why_not)(
    `the lines for ${language.format} log in with any password, directly and through the pooler${why_not}`,
    async () => {
      const password = String.raw`it's "so": 100% $HOME #{1+1} \t @/?#&;=+`
      const [ca, told] = [join(home, 'the ca.pem'), await installation.call<Service[]>('GET', installation.services)]
      writeFileSync(ca, await (await fetch(`${installation.server.api_url}/ca.pem`)).text())
      const shop = told.body.find(({ name }) => name === 'shop')
      const made = await psql([], '-c', `create role ${roleOf(language)} login password ${pg.escapeLiteral(password)}`)
      expect(made, made.stderr).toMatchObject({ code: 0 })
      // Two by transaction, which take turns at the pool's sessions.
      const lines = ([undefined, 'session', 'transaction', 'transaction'] as const).map((pooled) => {
        const connection = shop && connectionOf(shop, { pooled })
        if (connection === undefined) throw new Error('the service has no such address')
        return connectionLine({ ...connection, user: roleOf(language) }, language.format, { password, ca })
      })
      expect(await usersBy(language, lines, home)).toEqual(lines.map(() => roleOf(language)))
    },
  )
}

const roleOf = ({ format }: { format: string }) => `of_${format.replace('-', '_')}`

async function userAt(client: pg.Client): Promise<string | undefined> {
  await client.connect()
  try {
    return (await client.query<{ current_user: string }>('select current_user')).rows[0]?.current_user
  } finally {
    await client.end()
  }
}

test.skipIf(why)(
  `a log that is followed goes on over a server that is started anew, without a gap or a repetition${why}`,
  async () => {
    const child = spawn(
      join(repository, 'bin', 'howdah'),
      ['service', 'logs', 'shop', '-f', '--json', '--severity', 'error'],
      {
        env: { ...process.env, ...env },
        stdio: ['ignore', 'pipe', 'ignore'],
      },
    )
    const seen: string[] = []
    createInterface({ input: child.stdout }).on('line', (line) => {
      const marker = /marker-\d+/.exec((JSON.parse(line) as LogEntry).message)?.[0]
      if (marker !== undefined) seen.push(marker)
    })
    const fail = (marker: string) => psql([], '-c', `do $$ begin raise exception '${marker}'; end $$`)
    const markers = ['marker-1', 'marker-2', 'marker-3', 'marker-4']
    await fail('marker-1')
    await until(() => seen.includes('marker-1'))
    await fail('marker-2')
    await installation.restart()
    await fail('marker-3')
    await fail('marker-4')
    await until(() => seen.includes('marker-4'))
    expect(seen).toEqual(markers)
    child.kill('SIGINT')
    await once(child, 'exit')
    expect(child.exitCode).toBe(130)
  },
)
