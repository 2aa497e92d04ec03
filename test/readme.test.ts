// The README is true: its tour runs as pasted, and its tables say what the code says.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, expect, test } from 'vitest'
import { exit_codes } from '#cli/command.ts'
import { fault_status } from '#contract/fault.ts'
import { refused_extensions, tenant_extensions } from '#providers/postgres/tenant-extensions.ts'
import { settings } from '#server/config.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { newServicePorts } from '#test/ports.ts'
import { howdah, repository, startHowdah } from '#test/e2e/howdah.ts'

const readme = readFileSync(join(repository, 'README.md'), 'utf8')
const data_dirs: string[] = []

afterAll(async () => {
  for (const data_dir of data_dirs) await removeDataDir(data_dir)
})

const has = (program: string) => spawnSync(program, ['--version']).error === undefined

const why = has('curl') ? '' : ' (skipped: curl is not installed)'

test.skipIf(why)(`the tour works when it is pasted${why}`, async () => {
  const data_dir = newDataDir()
  data_dirs.push(data_dir)
  const { first, last } = newServicePorts()
  const home = newDataDir()
  data_dirs.push(home)
  const files = { HOME: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home }
  const env = { ...files, HOWDAH_DATA_DIR: data_dir, HOWDAH_SERVICE_PORTS: `${first}-${last}` }
  const server = await startHowdah([], env)
  const pasted = `${linesOf('first')}\n${linesOf('tour')}`
    .replaceAll('http://127.0.0.1:8080/public/api/v1', server.url)
    .replaceAll('howdah-ca.pem', join(data_dir, 'ca.pem'))
    .replaceAll(/^.*psql /gm, has('psql') ? '$&' : ': $&')

  const shell = spawn('bash', ['-c', `set -e\n${pasted}`], {
    cwd: repository,
    env: { ...process.env, DATABASE_URL: '', ...env, PATH: `${join(repository, 'bin')}:${process.env['PATH']}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr] = await Promise.all([text(shell.stdout), text(shell.stderr), once(shell, 'close')])
  expect(shell.exitCode, stderr).toBe(0)
  if (has('psql')) expect(stdout.match(/PostgreSQL 18/g)).toHaveLength(2)
  expect(stdout).toMatch(/^shop +\w{10} +READY/m)
  // The answer to the last line, which pauses the service.
  expect(stdout).toMatch(/"status":"(PAUSING|PAUSED)"/)
  expect((await howdah(['stop', '--all'], env)).code).toBe(0)
})

test('the settings are those of the server', () => {
  const rows = settings.map((setting) => [
    setting.flag ?? 'none',
    setting.env,
    setting.default || 'none',
    setting.description,
  ])
  expect(tableOf('Settings')).toEqual(rows)
})

test('the errors are those of the contract', () => {
  const rows = tableOf('The API').map(([code = '', status]) => [code, Number(status)] as const)
  expect(Object.fromEntries(rows)).toEqual(fault_status)
})

test('the extensions that a tenant may make, and may not, are those of the control files', () => {
  const text = /\*\*Extensions\.\*\*(.*?)\n\*\*/s.exec(section('Operations'))?.[1] ?? ''
  const offered = /safe for a tenant: (.*?)\. Their/s.exec(text)?.[1]?.matchAll(/`(\w+)`/g) ?? []
  expect([...offered].map(([, name]) => name)).toEqual(tenant_extensions)
  const refused = [...text.matchAll(/^\| (`.*`) \| (.*) \|$/gm)].flatMap(([, names = '', reason = '']) =>
    names.split(', ').map((name) => [name.replaceAll('`', ''), reason] as const),
  )
  expect(Object.fromEntries(refused)).toEqual(refused_extensions)
})

test('every dependency has its reason, and no other is named', () => {
  const groups = ['dependencies', 'devDependencies', 'optionalDependencies'] as const
  type Manifest = Record<(typeof groups)[number], Record<string, string>>
  const manifest = JSON.parse(readFileSync(join(repository, 'package.json'), 'utf8')) as Manifest // our own file
  const named = tableOf('Dependencies').flatMap(([packages = '']) => packages.split(', '))
  expect(named.toSorted()).toEqual(groups.flatMap((group) => Object.keys(manifest[group])).toSorted())
})

test('every bench is named with its command, and every named one exists', () => {
  const named = [...section('Figures').matchAll(/npm run bench (\w+)/g)].map(([, name]) => name)
  const there = readdirSync(join(repository, 'bench'))
    .filter((file) => readFileSync(join(repository, 'bench', file), 'utf8').startsWith('// Bench:'))
    .map((file) => file.replace('.ts', ''))
  expect(new Set(named)).toEqual(new Set(there))
})

test('the commands are those that howdah help lists', async () => {
  const { stdout } = await howdah(['help'])
  const there = [...stdout.matchAll(/^ {2}(\S+)/gm)].map(([, word]) => word)
  const text = section('The command')
  const [, derived = ''] = /derived from the contract: (.*) \|/.exec(text) ?? []
  const named = [...text.matchAll(/`howdah ([\w-]+)/g)].map(([, word]) => word)
  const nouns = [...derived.matchAll(/`([\w-]+)`/g)].map(([, word]) => word)
  expect(new Set([...named, ...nouns, 'version'])).toEqual(new Set(there.filter((word) => word !== '')))
})

test('the exit codes are those of the command', () => {
  const rows = section('The command').matchAll(/^\| (\d+) \|/gm)
  expect([...rows].map(([, code]) => Number(code))).toEqual(Object.values(exit_codes))
})

test('the folders of the tree exist', () => {
  const folders = [...section('How it works').matchAll(/^(\w+)\/ /gm)].map(([, folder = '']) => folder)
  expect(folders.length).toBeGreaterThan(5)
  expect(folders.filter((folder) => !existsSync(join(repository, folder)))).toEqual([])
})

/** Lines of shell that people are to paste. */
function linesOf(kind: string): string {
  return new RegExp(`\`\`\`sh ${kind}\\n(.*?)\`\`\``, 's').exec(readme)?.[1] ?? ''
}

function section(title: string): string {
  return readme.split(/^## /m).find((part) => part.startsWith(`${title}\n`)) ?? ''
}

/** The rows of a section's table without its head, each cell without its backticks. */
function tableOf(title: string): string[][] {
  const lines = section(title)
    .split('\n')
    .filter((line) => line.startsWith('|'))
  return lines.slice(2).map((line) =>
    line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim().replaceAll('`', '')),
  )
}
