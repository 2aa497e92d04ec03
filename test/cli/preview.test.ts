// Previews as workflows of GitHub make them, with an environment like GitHub's against a real server: opened, pushed to, forked anew, closed,
// gone by itself, twice at once. And the action itself: its one file under Node 20, with an empty home.
import { execFile, spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import type { Service } from '#contract/service.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { repository } from '#test/e2e/howdah.ts'
import { startInRegion } from '#test/http/region.ts'
import { shared } from '#test/shared.ts'
import { howdahHere } from './user.ts'

const installation = shared(startInRegion)
let parent_id = ''
let github: Server
let comments: { id: number; body: string }[] = []
let home = ''

beforeAll(async () => {
  parent_id = (await installation.createService({ name: 'shop' })).service_id
  // As much of GitHub's API as the comment needs.
  github = createServer((request, response) => {
    let text = ''
    request.on('data', (piece: Buffer) => {
      text += piece.toString()
    })
    request.on('end', () => {
      if (request.method !== 'GET') {
        const { body } = JSON.parse(text) as { body: string }
        const id = /\/comments\/(\d+)$/.exec(request.url ?? '')?.[1]
        if (id === undefined) comments.push({ id: comments.length + 1, body })
        else comments = comments.map((one) => (one.id === Number(id) ? { ...one, body } : one))
      }
      response.end(JSON.stringify(comments))
    })
  })
  await new Promise<void>((resolve) => github.listen(0, '127.0.0.1', resolve))
})

afterAll(async () => {
  github?.close()
  github?.closeAllConnections()
})

beforeEach(() => {
  home = newDataDir()
  comments = []
  const { port } = github.address() as AddressInfo
  const variables = {
    HOME: home,
    XDG_CONFIG_HOME: home,
    XDG_CACHE_HOME: home,
    PGPASSFILE: join(home, 'pgpass'),
    HOWDAH_SERVER: installation.server.url,
    HOWDAH_TOKEN: installation.token,
    GITHUB_API_URL: `http://127.0.0.1:${port}`,
    GITHUB_REPOSITORY: 'acme/web',
    GITHUB_EVENT_PATH: join(home, 'event.json'),
    GITHUB_OUTPUT: join(home, 'output'),
    GITHUB_ACTION_PATH: join(repository, 'action', 'preview'),
    GITHUB_HEAD_REF: '$(touch x)',
    PREVIEW_SERVICE: 'shop',
    PREVIEW_GITHUB_TOKEN: 'of-the-workflow',
    PREVIEW_CA: join(home, 'of-the-job', 'ca.pem'),
  }
  for (const [name, value] of Object.entries(variables)) vi.stubEnv(name, value)
})

afterEach(async () => {
  vi.unstubAllEnvs()
  await removeDataDir(home)
})

function happens(action: string, number: number): void {
  const pull_request = { head: { ref: '$(touch x)' } }
  writeFileSync(join(home, 'event.json'), JSON.stringify({ action, number, repository: { name: 'web' }, pull_request }))
  writeFileSync(join(home, 'output'), '')
}

function outputs(): Record<string, string> {
  const lines = readFileSync(join(home, 'output'), 'utf8').trim().split('\n')
  return Object.fromEntries(lines.map((line) => [line.slice(0, line.indexOf('=')), line.slice(line.indexOf('=') + 1)]))
}

async function run(action: string, number: number): Promise<{ printed: string; output: Record<string, string> }> {
  happens(action, number)
  const ran = await howdahHere(['preview', 'github'])
  expect(ran, ran.stderr).toMatchObject({ code: 0 })
  return { printed: ran.stdout, output: action === 'closed' ? {} : outputs() }
}

const forks = async (name: string) =>
  (await installation.call<Service[]>('GET', `${installation.services}?name=${name}`)).body.filter(
    ({ status }) => status !== 'DELETING',
  )

test('opened, pushed to three times, closed twice: one fork, one password, one comment, and then none', async () => {
  const opened = await run('opened', 1)
  expect(opened.output).toMatchObject({ created: 'true', user: 'tsdbadmin', database: 'tsdb' })
  const { password = '', url = '' } = opened.output
  expect(url).toContain(password)
  const { 'ca-path': ca = '' } = opened.output
  expect([ca, url]).toEqual([join(home, 'of-the-job', 'ca.pem'), expect.stringContaining(`sslrootcert=${ca}`)])
  expect(readFileSync(ca, 'utf8')).toBe(await (await fetch(`${installation.server.api_url}/ca.pem`)).text())
  for (const secret of [password, url]) expect(opened.printed).toContain(`::add-mask::${secret}\n`)
  expect(opened.printed.replaceAll(/^::add-mask::.*$/gm, '')).not.toContain(password)
  const [first] = await forks('pr-1-web')
  expect(first).toMatchObject({ service_id: opened.output['service-id'], forked_from: { service_id: parent_id } })
  for (let push = 0; push < 3; push += 1) {
    const { output } = await run('synchronize', 1)
    expect(output).toMatchObject({ created: 'false', password, 'service-id': first?.service_id })
  }
  const [last] = await forks('pr-1-web')
  expect(Date.parse(last?.expires_at ?? '')).toBeGreaterThan(Date.parse(opened.output['expires-at'] ?? ''))
  expect(comments).toHaveLength(1)
  expect(JSON.stringify(comments)).not.toContain(password)
  expect((await run('closed', 1)).printed).toContain('preview "pr-1-web": deleted')
  expect((await run('closed', 1)).printed).toContain('there is none any more')
  expect(comments).toMatchObject([{ body: expect.stringContaining('is deleted') }])
  expect(await forks('pr-1-web')).toEqual([])
})

test('reopened after it was closed, or after its expiry deleted it, it is forked anew', async () => {
  const opened = await run('opened', 2)
  await run('closed', 2)
  const reopened = await run('reopened', 2)
  expect(reopened.output).toMatchObject({ created: 'true' })
  expect(reopened.output['service-id']).not.toBe(opened.output['service-id'])
  const { 'service-id': id = '' } = reopened.output
  await installation.call('DELETE', `${installation.services}/${id}`)
  await installation.untilStatus(id, 'removed')
  expect((await run('synchronize', 2)).output).toMatchObject({ created: 'true' })
  vi.stubEnv('PREVIEW_RESET', 'true')
  expect((await run('synchronize', 2)).output).toMatchObject({ created: 'true' })
  expect(await forks('pr-2-web')).toHaveLength(1)
})

test('closed when the parent is gone, the preview is deleted, and none of that name of another parent', async () => {
  const { service_id: brief } = await installation.createService({ name: 'brief' })
  vi.stubEnv('PREVIEW_SERVICE', 'brief')
  await run('opened', 6)
  vi.stubEnv('PREVIEW_SERVICE', 'shop')
  await run('opened', 6)
  await installation.call('DELETE', `${installation.services}/${brief}`)
  await installation.untilStatus(brief, 'removed')
  vi.stubEnv('PREVIEW_SERVICE', 'brief')
  expect((await run('closed', 6)).printed).toContain('preview "pr-6-web": deleted')
  expect(await forks('pr-6-web')).toMatchObject([{ forked_from: { service_id: parent_id } }])
  expect((await run('closed', 6)).printed).toContain('there is none any more')
})

test('two jobs at once make one fork', async () => {
  happens('opened', 3)
  const ran = await Promise.all([howdahHere(['preview', 'github']), howdahHere(['preview', 'github'])])
  expect(ran.map(({ code, stderr }) => [code, stderr])).toEqual([
    [0, ''],
    [0, ''],
  ])
  expect(await forks('pr-3-web')).toHaveLength(1)
})

test('without a token the step ends well and says so; without a parent of that name, or with a strategy of none, it fails', async () => {
  vi.stubEnv('HOWDAH_TOKEN', '')
  happens('opened', 4)
  expect(await howdahHere(['preview', 'github'])).toMatchObject({
    code: 0,
    stdout: expect.stringContaining('::notice::'),
  })
  vi.stubEnv('HOWDAH_TOKEN', installation.token)
  vi.stubEnv('PREVIEW_SERVICE', 'nowhere')
  expect(await howdahHere(['preview', 'github'])).toMatchObject({ code: 6 })
  vi.stubEnv('PREVIEW_SERVICE', 'shop')
  vi.stubEnv('PREVIEW_STRATEGY', 'last_snapshot')
  expect(await howdahHere(['preview', 'github'])).toMatchObject({
    code: 2,
    stderr: expect.stringContaining('must be one of now, last-snapshot, time'),
  })
})

test('a name with spaces around it is found again when the pull request is closed', async () => {
  vi.stubEnv('PREVIEW_NAME', ' web preview ')
  await run('opened', 5)
  expect(await forks('web preview')).toHaveLength(1)
  await run('synchronize', 5)
  expect(await forks('web preview')).toHaveLength(1)
  await run('closed', 5)
  expect(await forks('web preview')).toEqual([])
})

test('by hand: up prints no password for people, down deletes forks only', async () => {
  const words = ['--key', 'by-hand', '--service', 'shop', '--pooler', '--expires', '2h']
  const up = await howdahHere(['preview', 'up', ...words])
  expect(up, up.stderr).toMatchObject({ code: 0, stdout: expect.stringMatching(/^postgresql:\/\/tsdbadmin@/) })
  const { password, pooled_url } = JSON.parse((await howdahHere(['preview', 'up', ...words, '-o', 'json'])).stdout) as {
    password: string
    pooled_url: string
  }
  expect(up.stdout + up.stderr).not.toContain(password)
  const csv = await howdahHere(['preview', 'up', ...words, '-o', 'csv'])
  expect(csv.stdout).toMatch(/^service_id,host,port,/)
  expect(csv.stdout).toContain(password)
  expect(pooled_url).toContain(password)
  expect(readFileSync(join(home, 'pgpass'), 'utf8')).toContain(password)
  expect(await howdahHere(['preview', 'down', '--key', 'shop'])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('is no fork; it stays'),
  })
  expect(await howdahHere(['preview', 'down', '--key', 'by-hand'])).toMatchObject({ code: 0 })
  expect(await forks('by-hand')).toEqual([])
})

test('a key that is the name of another service makes no preview; of one from before only the fork is deleted', async () => {
  await installation.createService({ name: 'taken' })
  const words = ['--key', 'taken', '--service', 'shop']
  expect(await howdahHere(['preview', 'up', ...words])).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('"taken" is the name of a service that is no fork; choose another --key'),
  })
  expect(await forks('taken')).toHaveLength(1)
  await howdahHere(['service', 'fork', 'shop', '--name', 'taken'])
  expect(await howdahHere(['preview', 'down', '--key', 'taken'])).toMatchObject({ code: 0 })
  expect(await forks('taken')).toMatchObject([expect.not.objectContaining({ forked_from: expect.anything() })])
})

test('without a parent previews of all parents are deleted, and it says how many', async () => {
  await installation.createService({ name: 'second shop' })
  for (const parent of ['shop', 'second shop']) {
    await howdahHere(['preview', 'up', '--key', 'both', '--service', parent])
  }
  expect(await howdahHere(['preview', 'down', '--key', 'both'])).toMatchObject({
    code: 0,
    stderr: '2 previews are deleted.\n',
  })
  expect(await forks('both')).toEqual([])
})

const node20 = (process.env['PATH'] ?? '')
  .split(':')
  .find((folder) => spawnSync(join(folder, 'node'), ['--version'], { encoding: 'utf8' }).stdout?.startsWith('v20.'))
const why = node20 === undefined ? ' (skipped: no Node 20 is on the PATH)' : ''

test.skipIf(why)(`the action runs its one file under Node 20, and no input is part of its script${why}`, async () => {
  await promisify(execFile)(process.execPath, [join(repository, 'bin', 'pack-action.mjs')])
  const action = readFileSync(join(repository, 'action', 'preview', 'action.yml'), 'utf8')
  const script = /^ *run: (.*)$/m.exec(action)?.[1] ?? ''
  expect(script).not.toContain('${{')
  happens('opened', 5)
  vi.stubEnv('PREVIEW_NAME', '$(touch x)')
  vi.stubEnv('PATH', `${node20}:/usr/bin:/bin`)
  mkdirSync(join(home, 'work'))
  const { NODE_COMPILE_CACHE: _, ...env } = process.env
  const ran = await promisify(execFile)('sh', ['-e', '-c', script], { cwd: join(home, 'work'), env })
  expect(ran.stdout).toContain('::add-mask::')
  expect(outputs()).toMatchObject({ created: 'true' })
  expect(readdirSync(join(home, 'work'))).toEqual([])
  expect(existsSync('x')).toBe(false)
})

test('a file is planned, asked about, and made so; a second time there is nothing to do', async () => {
  const file = join(home, 'howdah.json')
  const write = (services: object[]) => writeFileSync(file, JSON.stringify({ services }))
  write([{ name: 'applied', cpu_millis: 500 }])
  expect(await howdahHere(['apply', '-f', file])).toMatchObject({ code: 2, stderr: expect.stringContaining('--yes') })
  expect(await howdahHere(['apply', '-f', file, '--plan-only'])).toMatchObject({
    code: 8,
    stdout: '+ service applied\n',
  })
  const made = await howdahHere(['apply', '-f', file], ['y'])
  expect(made, made.stderr).toMatchObject({ code: 0 })
  expect(await howdahHere(['apply', '-f', file])).toMatchObject({
    code: 0,
    stderr: expect.stringContaining('as the file says'),
  })
  const replica_sets = [{ name: 'readers', cpu_millis: 500 }]
  write([{ name: 'applied', cpu_millis: 1000, environment_tag: 'PROD', replica_count: 1, replica_sets }])
  expect(await howdahHere(['apply', '-f', file, '--yes'])).toMatchObject({ code: 0 })
  expect((await forks('applied'))[0]).toMatchObject({
    status: 'READY',
    metadata: { environment: 'PROD' },
    ha_replicas: { replica_count: 1 },
    resources: [{ spec: { cpu_millis: 1000 } }],
    read_replica_sets: [{ name: 'readers', nodes: 1, cpu_millis: 500, status: 'active' }],
  })
  expect((await howdahHere(['apply', '-f', file])).stderr).toContain('as the file says')
})
