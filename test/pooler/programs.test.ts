// A host that lacks PgBouncer and HAProxy: what is said, and what the first start as root does about it. The programs are hidden
// in a mount namespace of the test's own, where apt-get and the like are scripts that write down how they were called. They lie
// where the system's own lie, because root runs no others.
import { spawnSync } from 'node:child_process'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { repository } from '#test/e2e/howdah.ts'

const can_hide = spawnSync('unshare', ['-m', 'true']).status === 0
const why = can_hide ? '' : ' (skipped: it takes a root that may mount)'

let folder = ''
let faked: string[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'howdah-test-programs-'))
  faked = []
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

test.skipIf(why)(`a request for what needs them is refused with a sentence that says how to get them${why}`, () => {
  const { stdout } = runHidden(`
    import { startInstallation } from '${repository}/test/installation.ts'
    const howdah = await startInstallation()
    try {
      const at = howdah.services + '/' + (await howdah.createService({ cpu_millis: 'shared' })).service_id
      const set = (nodes) => howdah.call('POST', at + '/replicaSets', { name: 'a set', nodes, cpu_millis: 500, memory_gbs: 2 })
      const answers = [await howdah.call('POST', at + '/enablePooler'), await set(2), await set(1)]
      console.log(JSON.stringify(answers.map(({ status, body }) => ({ status, code: body.code, details: body.details }))))
    } finally {
      await howdah.stop()
    }`)
  const refused = (program: string, name: string) => ({
    status: 400,
    code: 'INVALID_REQUEST',
    details: expect.stringContaining(
      `needs ${name}, which this host does not have; install it with apt-get install ${program}`,
    ),
  })
  // One node needs no balancer.
  expect(JSON.parse(stdout)).toEqual([
    refused('pgbouncer', 'PgBouncer'),
    refused('haproxy', 'HAProxy'),
    { status: 202 },
  ])
})

test.skipIf(why)(`the first start as root installs what is missing once, and leaves no daemon of it${why}`, () => {
  // At first it has no lists of packages, as in an image.
  fake('apt-get', `case "$*" in *update*) touch ${folder}/lists ;; *install*) test -e ${folder}/lists ;; esac`)
  fakeDaemons()
  const first = setUp()
  expect(first).toMatchObject({
    status: 0,
    stderr: expect.stringMatching(/^Howdah: installing pgbouncer, haproxy .*\n$/),
  })
  const calls = callsOf('apt-get')
  expect(calls.map((call) => / (update|install.*)$/.exec(call)?.[1])).toEqual([
    'install -y --no-install-recommends --download-only pgbouncer haproxy',
    'update',
    'install -y --no-install-recommends --download-only pgbouncer haproxy',
    'install -y --no-install-recommends pgbouncer haproxy',
  ])
  const stopped = [...callsOf('systemctl'), ...callsOf('service'), ...callsOf('update-rc.d')].join('\n')
  for (const daemon of ['pgbouncer', 'haproxy']) expect(stopped).toContain(daemon)
  // Nothing was installed by a script; it is not tried a second time.
  expect(setUp()).toMatchObject({ status: 0, stderr: '' })
  expect(callsOf('apt-get')).toEqual(calls)
})

test.skipIf(why)(`an installation that fails is a warning, and a killed one is finished${why}`, () => {
  fake('apt-get', 'exit 100')
  fakeDaemons()
  expect(setUp()).toMatchObject({ status: 0, stderr: expect.stringContaining('could not install pgbouncer, haproxy') })
  writeFileSync(join(folder, 'marker'), 'installing haproxy')
  const calls = callsOf('apt-get')
  expect(setUp().status).toBe(0)
  expect([...callsOf('systemctl'), ...callsOf('service')].at(-1)).toContain('haproxy')
  expect(callsOf('apt-get')).toEqual(calls)
  expect(readFileSync(join(folder, 'marker'), 'utf8')).toBe('tried')
})

const setUp = () =>
  runHidden(`
    import { ensurePrograms } from '${repository}/bin/programs.mjs'
    await ensurePrograms('${folder}/marker')`)

function runHidden(script: string) {
  writeFileSync(join(folder, 'script.ts'), script)
  // A file without execute permission instead of each.
  const hide = ['pgbouncer', 'haproxy'].map(
    (name) => `! test -e /usr/sbin/${name} || mount --bind /dev/null /usr/sbin/${name}`,
  )
  const replace = faked.map((name) => {
    const there = ['/usr/sbin', '/usr/bin'].map((place) => join(place, name)).find((path) => existsSync(path))
    return there === undefined ? '' : `mount --bind ${folder}/${name} ${there}`
  })
  const all = [...hide, ...replace, `mount --bind ${folder} /usr/local/sbin`, 'exec "$@"'].filter(Boolean)
  const words = ['-m', 'sh', '-ec', all.join('; '), 'sh', process.execPath, join(folder, 'script.ts')]
  return spawnSync('unshare', words, { encoding: 'utf8' })
}

function fake(program: string, script: string): void {
  const path = join(folder, program)
  writeFileSync(path, `#!/bin/sh\necho "$*" >> ${path}.calls\n${script}\n`)
  chmodSync(path, 0o755)
  faked.push(program)
}

function fakeDaemons(): void {
  for (const program of ['systemctl', 'service', 'update-rc.d']) fake(program, '')
}

function callsOf(program: string): string[] {
  try {
    return readFileSync(join(folder, `${program}.calls`), 'utf8')
      .trim()
      .split('\n')
  } catch {
    return []
  }
}
