// The packed client as its users have it: installed in another folder, without the clone. It is type-checked by two compilers, runs under
// Node 20 with an empty home, and lies in a browser's bundle.
import { execFile, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { api, type EndpointName } from '#contract/api.ts'
import { camelOf, homeOf, verbOf } from '#contract/verbs.ts'
import { newHowdah } from '#contract/howdah.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { repository } from '#test/e2e/howdah.ts'
import { startInRegion } from '#test/http/region.ts'
import { until } from '#test/until.ts'

const run = promisify(execFile)
const modules = join(repository, 'node_modules')
let folder = ''

beforeAll(async () => {
  folder = newDataDir()
  const { stdout } = await run(process.execPath, [join(repository, 'bin', 'pack-client.mjs')])
  const installed = join(folder, 'node_modules', '@howdah', 'client')
  mkdirSync(installed, { recursive: true })
  await run('tar', ['-xzf', stdout.trim(), '-C', installed, '--strip-components=1'])
  symlinkSync(join(modules, 'typebox'), join(folder, 'node_modules', 'typebox'))
  writeFileSync(join(folder, 'package.json'), '{ "type": "module" }')
  writeFileSync(join(folder, 'program.ts'), program)
  writeFileSync(join(folder, 'verbs.ts'), verbs())
})

afterAll(() => removeDataDir(folder))

const program = `import { Fault, newHowdah, type Service } from '@howdah/client'
import { api } from '@howdah/client/contract'
import { Service as schema } from '@howdah/client/contract/service'
import { connectionLine, connectionOf } from '@howdah/client/connection'
import { withDatabase } from '@howdah/client/testing'

export async function use(): Promise<string> {
  const howdah = newHowdah()
  await using db = await howdah.services.temporary()
  const fork = await db.fork({ at: new Date(), expires_in: '2h' })
  const service: Service = await fork.settled()
  for await (const { severity, message } of fork.logs({ follow: true, severities: ['ERROR'] })) severity satisfies string, message
  const [set] = await db.replicaSets.list()
  await set?.resize({ cpu_millis: 1000, memory_gbs: 4 })
  const connection = connectionOf(service)
  if (connection === undefined) throw new Fault('NOT_FOUND', Object.keys(schema.properties).join() + api.listServices.summary)
  return connectionLine(connection, 'uri')
}

export const database = () => withDatabase({ before: () => {}, after: () => {} }, { from: 'k3v9x2m7qp' })
`

const wrong = `import { newHowdah } from '@howdah/client'
const howdah = newHowdah()
await howdah.services.at('x').fork({ fork_strategy: 'NEVER' })
await howdah.services.create({ nam: 'x' })
await howdah.services.explode()
`

/** Where every endpoint is found, by the rules that run; the compiler says whether its types have it there too. */
function expressionOf(name: EndpointName): string {
  const home = homeOf(api[name])
  const in_project = home.startsWith('/projects/{project_id}')
  const rest = in_project ? home.slice('/projects/{project_id}'.length) : home
  const start = rest === '' ? 'howdah.project' : 'howdah'
  const words = rest.split('/').slice(1)
  const path = words.map((word) => (word.startsWith('{') ? `.at('x')` : `.${camelOf(word)}`)).join('')
  return `${start}${path}.${verbOf(api[name])}`
}

// Object.keys forgets the names that the table's type has.
const expressions = (Object.keys(api) as EndpointName[]).map((name) => expressionOf(name))

function verbs(): string {
  const lines = expressions.map(
    (expression) => `  (...words: never[]) => ${expression} satisfies (...words: never[]) => unknown,`,
  )
  return `import { newHowdah } from '@howdah/client'\nconst howdah = newHowdah()\nexport const all = [\n${lines.join('\n')}\n]\n`
}

test('every endpoint has its function where the rules say', () => {
  const howdah = newHowdah({ server: 'http://127.0.0.1:9' })
  const found = expressions.map((expression) =>
    expression
      .split('.')
      .slice(1)
      .reduce<unknown>((at, word) => (word === `at('x')` ? Object(at).at('x') : Object(at)[word]), howdah),
  )
  expect(new Set(found.map((verb) => typeof verb))).toEqual(new Set(['function']))
})

test.each(['typescript7', 'typescript59'])('%s accepts what is right and refuses what is wrong', async (compiler) => {
  const options = ['--noEmit', '--strict', '--target', 'es2022', '--lib', 'es2024,esnext.disposable,dom']
  writeFileSync(join(folder, 'wrong.ts'), wrong)
  const files = ['program.ts', 'verbs.ts', 'wrong.ts']
  const tsc = join(modules, compiler, 'bin', 'tsc')
  const words = [tsc, ...options, '--module', 'nodenext', '--skipLibCheck', '--pretty', 'false', ...files]
  const { stdout } = await run(process.execPath, words, { cwd: folder }).catch((error: { stdout: string }) => error)
  expect(stdout.split('\n').filter((line) => /^\S/.test(line) && !line.startsWith('wrong.ts('))).toEqual([])
  for (const sign of [`'"NEVER"'`, `'nam'`, `'explode'`]) expect(stdout).toContain(sign)
})

const node20 = (process.env['PATH'] ?? '')
  .split(':')
  .map((one) => join(one, 'node'))
  .find((node) => spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout?.startsWith('v20.'))
const why = node20 === undefined ? ' (skipped: no Node 20 is on the PATH)' : ''

test.skipIf(why)(`under Node 20, with an empty home, it makes a database for a file of tests${why}`, async () => {
  const installation = await startInRegion()
  try {
    const source = `import test from 'node:test'
import assert from 'node:assert'
import { newHowdah } from '@howdah/client'
import { withDatabase } from '@howdah/client/testing'
const db = withDatabase(test)
test('it is there', async () => {
  assert.match(db.url, /^postgresql:/)
  assert.equal((await newHowdah().services.list()).length, 1)
})
`
    writeFileSync(join(folder, 'file.test.mjs'), source)
    const env = { HOME: '/nonexistent', HOWDAH_SERVER: installation.server.url, HOWDAH_TOKEN: installation.token }
    const ran = await run(node20 ?? '', ['--test', 'file.test.mjs'], { cwd: folder, env }).catch(
      (error: { stdout: string }) => error,
    )
    expect(ran.stdout).toContain('# pass 1')
    await installation.untilStatus(
      (await installation.call<{ service_id: string }[]>('GET', installation.services)).body[0]?.service_id ??
        'nosuchid00',
      'removed',
    )
  } finally {
    await installation.stop()
  }
})

const others = [
  { name: 'deno', words: ['run', '--no-remote', '--node-modules-dir=manual', '--allow-env', '--allow-net'] },
  { name: 'bun', words: ['run'] },
].map((runtime) => {
  const program = (process.env['PATH'] ?? '').split(':').map((one) => join(one, runtime.name))
  const found = program.find((path) => spawnSync(path, ['--version']).status === 0)
  return { ...runtime, found, missing: found === undefined ? ` (skipped: no ${runtime.name} is on the PATH)` : '' }
})

for (const { name, words, found = '', missing } of others) {
  test.skipIf(missing)(`under ${name}, with an empty home, a database ends with its block${missing}`, async () => {
    const installation = await startInRegion()
    try {
      const source = `import { newHowdah } from '@howdah/client'
import { connectionLine, connectionOf } from '@howdah/client/connection'
const howdah = newHowdah()
{
  await using db = await howdah.services.temporary()
  console.log((await howdah.services.list()).length, connectionLine(connectionOf(await db.settled()), 'uri'))
}
`
      writeFileSync(join(folder, 'block.mjs'), source)
      const at = { HOWDAH_SERVER: installation.server.url, HOWDAH_TOKEN: installation.token }
      const env = { ...at, HOME: '/nonexistent', DENO_DIR: join(folder, 'deno') }
      const { stdout } = await run(found, [...words, 'block.mjs'], { cwd: folder, env })
      expect(stdout).toMatch(/^1 postgresql:\/\/tsdbadmin@/)
      const gone = async () => (await installation.call<unknown[]>('GET', installation.services)).body.length === 0
      await until(gone, { what: 'the database is gone' })
    } finally {
      await installation.stop()
    }
  })
}

test('a bundle for browsers has nothing of Node, and no library', async () => {
  const { build } = await import('vite')
  writeFileSync(
    join(folder, 'page.js'),
    `export { newHowdah } from '@howdah/client'\nexport { withDatabase } from '@howdah/client/testing'\n`,
  )
  await build({
    configFile: false,
    root: folder,
    logLevel: 'silent',
    build: {
      lib: { entry: join(folder, 'page.js'), formats: ['es'], fileName: 'page' },
      outDir: join(folder, 'out'),
      minify: false,
    },
  })
  const text = readFileSync(join(folder, 'out', 'page.js'), 'utf8')
  expect(text).toContain('newHowdah')
  expect(text).not.toMatch(/^\s*import\b|\bfrom ['"]|['"]node:|\brequire\(/m)
})
