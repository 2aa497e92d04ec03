// What a release, a container and a unit of systemd are made of: nothing is missing, and nothing that only developers need is there.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { listPids, newDataDir, removeDataDir } from '#test/data-dir.ts'
import { production, root } from '#test/sources.ts'
import { until } from '#test/until.ts'

const read = (path: string) => readFileSync(join(root, path), 'utf8')
const is_clone = existsSync(join(root, '.git'))
const why_no_clone = is_clone ? '' : ' (skipped: this is no clone)'

test.skipIf(why_no_clone)(`a release has every source that runs, every page, and no test${why_no_clone}`, () => {
  const words = [join(root, 'bin', 'pack.mjs'), '--files']
  const packed = execFileSync(process.execPath, words, { cwd: root, encoding: 'utf8' }).trim().split('\n')
  const needed = ['bin/howdah', 'bin/set-up.mjs', 'package-lock.json', 'README.md', 'docs/quickstart.md', 'SECURITY.md']
  const tracked = execFileSync('git', ['-c', 'safe.directory=*', 'ls-files'], { cwd: root, encoding: 'utf8' }).split(
    '\n',
  )
  const sources = production.map(({ path }) => path).filter((path) => tracked.includes(path))
  expect([...needed, ...sources].filter((path) => !packed.includes(path))).toEqual([])
  expect(packed.filter((path) => /^(test|bench)\/|\.test\./.test(path))).toEqual([])
})

test('the container installs what features need, and runs files that are there', () => {
  const text = read('Dockerfile')
  const packages = [...read('bin/programs.mjs').matchAll(/debian_package: '([\w-]+)'(?!.*for_tests)/g)]
  expect(packages.length).toBeGreaterThan(3)
  for (const [, name = ''] of packages) expect(text).toContain(` ${name} `)
  const files = [...text.matchAll(/\/opt\/howdah\/([\w./-]+\.\w+)/g)].map(([, path = '']) => path)
  expect(files.length).toBeGreaterThan(1)
  expect(files.filter((path) => !existsSync(join(root, path)))).toEqual([])
})

test('a container that is stopped stops its databases before', async () => {
  const [, words = '[]'] = /^CMD (\[.*\])$/m.exec(read('Dockerfile')) ?? []
  const [program = '', ...args] = JSON.parse(words) as string[]
  const data_dir = newDataDir()
  onTestFinished(() => removeDataDir(data_dir))
  const own = {
    HOME: data_dir,
    XDG_CONFIG_HOME: data_dir,
    HOWDAH_DATA_DIR: data_dir,
    HOWDAH_PORT: '0',
    DATABASE_URL: '',
  }
  const env = { ...process.env, ...own, PATH: `${join(root, 'bin')}:${process.env['PATH']}` }
  const command = spawn(program, args, { env, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [command.stdout, command.stderr]) stream.on('data', (piece) => (said += String(piece)))
  const ended = once(command, 'close')
  await until(() => command.exitCode !== null || said.includes('Ctrl-C'), { what: 'the command has started' })
  expect(listPids(data_dir), said).not.toEqual([])
  command.kill('SIGTERM')
  await ended
  expect([command.exitCode, said]).toEqual([0, expect.stringContaining('and the embedded metadata store.')])
  expect(listPids(data_dir)).toEqual([])
})

const has_systemd = spawnSync('systemd-analyze', ['--version']).status === 0
const why_no_systemd = has_systemd ? '' : ' (skipped: systemd-analyze is not installed)'

test.skipIf(why_no_systemd)(`systemd accepts the unit${why_no_systemd}`, () => {
  const folder = mkdtempSync(join(tmpdir(), 'howdah-test-unit-'))
  try {
    const unit = join(folder, 'howdah.service')
    writeFileSync(unit, read('deploy/systemd/howdah.service').replaceAll('/opt/howdah', root))
    const { status, stderr } = spawnSync('systemd-analyze', ['verify', '--man=no', unit], { encoding: 'utf8' })
    expect([status, stderr]).toEqual([0, ''])
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
