// Every command of the documentation works when it is pasted: page by page, on one server with one service, as a new user has it after the
// README; in each run a half of the other pages.
import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { howdah, repository, startHowdah } from '#test/e2e/howdah.ts'
import { newServicePorts } from '#test/ports.ts'
import { partsOf } from '#test/sample.ts'
import { type Block, type Page, pageAt, pages } from './pages.ts'

const has = (program: string) => spawnSync(program, ['--version']).error === undefined
const lacks = ['curl', 'psql', 'git', 'pgbouncer', 'haproxy', 'ip'].filter((program) => !has(program))
const why = lacks.length === 0 ? '' : ` (skipped: not installed: ${lacks.join(', ')})`

let env: Record<string, string> = {}
let url = ''
/** Where a reader stands: in a clone of something, on a branch. */
let folder = ''
const data_dirs: string[] = []

beforeAll(async () => {
  if (why !== '') return
  const data_dir = newDataDir()
  const home = newDataDir()
  data_dirs.push(data_dir, home)
  folder = join(home, 'shop')
  execFileSync('git', ['init', '--quiet', '--initial-branch=checkout', folder])
  const file = pageAt('docs/previews.md').blocks.find(({ language }) => language === 'json')
  writeFileSync(join(folder, 'howdah.json'), file?.text ?? '')
  const { first, last } = newServicePorts()
  const files = { HOME: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home }
  env = { ...files, HOWDAH_DATA_DIR: data_dir, HOWDAH_SERVICE_PORTS: `${first}-${last}` }
  const server = await startHowdah([], env)
  url = new URL(server.url).origin
})

afterAll(async () => {
  if (why === '') await howdah(['stop', '--all'], env)
  for (const data_dir of data_dirs) await removeDataDir(data_dir)
})

const is_run = ({ language, not_run }: Block) => language === 'sh' && not_run === undefined

test.skipIf(why)(`the README works when it is pasted${why}`, async () => {
  const said = await paste(pageAt('README.md'))
  expect(said).toContain('PostgreSQL 18')
  // The rows that came back.
  expect(said).toMatch(/^ +1000$/m)
  // The agent is not told that it may write.
  expect(JSON.parse(readFileSync(join(folder, '.mcp.json'), 'utf8'))).toMatchObject({
    mcpServers: { howdah: { args: ['mcp'] } },
  })
})

// The last one makes services as a file describes them, and protects the one that the others use.
const others = pages.filter(({ path, blocks }) => path !== 'README.md' && blocks.some(is_run))
const in_order = partsOf(others, 2)
  .flatMap(({ some }) => some)
  .toSorted((a, b) => Number(a.path.endsWith('previews.md')) - Number(b.path.endsWith('previews.md')))

for (const page of in_order) {
  test.skipIf(why)(`${page.path} works when it is pasted${why}`, async () => {
    expect(await paste(page)).not.toBe('')
  })
}

/** What the commands of the page print, in one shell that ends at the first failure. */
async function paste({ path, blocks }: Page): Promise<string> {
  const lines = blocks.filter(is_run).map((block) => block.text)
  const pasted = lines.join('\n').replaceAll('http://127.0.0.1:8080', url)
  const shell = spawn('bash', ['-c', `set -eo pipefail\n${pasted}`], {
    cwd: folder,
    env: { ...process.env, DATABASE_URL: '', ...env, PATH: `${join(repository, 'bin')}:${process.env['PATH']}` },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  const [stdout, stderr] = await Promise.all([text(shell.stdout), text(shell.stderr), once(shell, 'close')])
  expect(shell.exitCode, `${path}: ${stdout}\n${stderr}`).toBe(0)
  return stdout
}
