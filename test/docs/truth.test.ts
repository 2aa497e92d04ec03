// The documentation says what the code says: lists, tables, names of commands and settings, and links.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { exit_codes, findCommand } from '#cli/command.ts'
import { operator_commands } from '#cli/operator.ts'
import { unaliased, user_commands } from '#cli/user/main.ts'
import { connection_formats } from '#contract/connection.ts'
import { fault_status } from '#contract/fault.ts'
import { sizes } from '#contract/size.ts'
import { connectionsOf } from '#providers/postgres/size.ts'
import { refused_extensions, tenant_extensions } from '#providers/postgres/tenant-extensions.ts'
import { settings } from '#server/config.ts'
import { root } from '#test/sources.ts'
import { withGenerated } from './generated.ts'
import { pageAt, pages, prose, tableBelow } from './pages.ts'

test('the README is read in ten minutes', () => {
  expect(pageAt('README.md').text.split('\n').length).toBeLessThanOrEqual(150)
})

test('the lists of settings and commands are those of the code: npm run docs writes them', () => {
  const old = pages.filter(({ text }) => withGenerated(text) !== text)
  expect(old.map(({ path }) => path)).toEqual([])
})

test('every page is reached from the README, and every link leads to a page, a file or a heading that is there', () => {
  const dead = pages.flatMap((page) =>
    linksOf(prose(page)).flatMap((link) => {
      const [path = '', heading] = link.split('#')
      const target = path === '' ? page.path : join(dirname(page.path), path)
      const is_there = existsSync(join(root, target)) && (heading === undefined || headingsOf(target).includes(heading))
      return is_there ? [] : [`${page.path}: ${link}`]
    }),
  )
  expect(dead).toEqual([])
  const reached = linksOf(pageAt('README.md').text).map((link) => link.split('#')[0])
  expect(pages.map(({ path }) => path).filter((path) => path !== 'README.md' && !reached.includes(path))).toEqual([])
})

test('every command that a page names exists', () => {
  const known = [...operator_commands, ...user_commands]
  const isNoun = (words: string) => known.some(({ name }) => name.startsWith(`${words} `))
  const unknown = pages.flatMap(({ path, text }) =>
    [...text.matchAll(/(?:^|`)howdah ((?:[a-z][\w-]* ?)+)/gm)].flatMap(([, text_of_words = '']) => {
      const words = unaliased(
        text_of_words
          .trim()
          .replace(/^help ?/, '')
          .split(' '),
      )
      const is_known = words[0] === '' || findCommand(known, words) !== undefined || isNoun(words.join(' '))
      return is_known ? [] : [`${path}: howdah ${text_of_words}`]
    }),
  )
  expect(unknown).toEqual([])
})

test('every setting that a page names exists', () => {
  const known = new Set<string>(settings.flatMap(({ flag, env }) => [env, ...(flag === undefined ? [] : [flag])]))
  const named = pages.flatMap(({ path, text }) =>
    [...text.matchAll(/(?:npm start|howdah start)((?: (?:-- )?--[\w-]+(?: [^\s`-]\S*)?)+)/g)].flatMap(
      ([, flags = '']) => [...flags.matchAll(/--[a-z][\w-]*/g)].map(([flag]) => ({ path, flag })),
    ),
  )
  expect(named.length).toBeGreaterThan(5)
  const of_start = ['--isolate', '--restore-from']
  expect(named.filter(({ flag }) => !known.has(flag) && !of_start.includes(flag))).toEqual([])
})

test('the errors are those of the contract', () => {
  const rows = tableBelow(pageAt('docs/api.md'), 'Errors').map(([code = '', status]) => [code, Number(status)] as const)
  expect(Object.fromEntries(rows)).toEqual(fault_status)
})

test('the forms of a connection string are those of the contract', () => {
  const rows = tableBelow(pageAt('docs/connect.md'), 'Drivers and ORMs')
  expect(rows.map(([format]) => format)).toEqual(connection_formats)
})

test('the sizes are those of the contract', () => {
  const rows = tableBelow(pageAt('docs/services-and-sizes.md'), 'Sizes').slice(0, -1)
  expect(rows.map(([cpu, memory]) => ({ cpu_millis: Number(cpu), memory_gbs: Number(memory) }))).toEqual(sizes)
  expect(rows.map(([, , , connections]) => Number(connections))).toEqual(sizes.map(connectionsOf))
})

test('the extensions that a tenant may make, and may not, are those of the control files', () => {
  const text = pageAt('docs/services-and-sizes.md').text
  const offered = /safe for a tenant: (.*?)\. Their/s.exec(text)?.[1]?.matchAll(/`(\w+)`/g) ?? []
  expect([...offered].map(([, name]) => name)).toEqual(tenant_extensions)
  const rows = tableBelow(pageAt('docs/services-and-sizes.md'), 'Addons and extensions')
  const refused = rows.flatMap(([names = '', reason]) => names.split(', ').map((name) => [name, reason] as const))
  expect(Object.fromEntries(refused)).toEqual(refused_extensions)
})

test('every dependency has its reason, and no other is named', () => {
  const groups = ['dependencies', 'devDependencies', 'optionalDependencies'] as const
  type Manifest = Record<(typeof groups)[number], Record<string, string>>
  const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Manifest // our own file
  const [packages = ''] = pageAt('docs/dependencies.md').text.split('From Debian')
  const named = [...packages.matchAll(/^\| (`.*`) \|/gm)].flatMap(([, cell = '']) => cell.split(', '))
  const wanted = groups.flatMap((group) => Object.keys(manifest[group])).map((name) => `\`${name}\``)
  expect(named.toSorted()).toEqual(wanted.toSorted())
})

test('every bench is named with its command, and every named one exists', () => {
  const named = [...pageAt('docs/benchmarks.md').text.matchAll(/npm run bench (\w+)/g)].map(([, name]) => name)
  const there = readdirSync(join(root, 'bench'))
    .filter((file) => readFileSync(join(root, 'bench', file), 'utf8').startsWith('// Bench:'))
    .map((file) => file.replace('.ts', ''))
  expect(new Set(named)).toEqual(new Set(there))
})

test('the exit codes are those of the command', () => {
  const rows = tableBelow(pageAt('docs/cli.md'), 'Exit codes')
  expect(rows.map(([code]) => Number(code))).toEqual(Object.values(exit_codes))
})

test('the folders of the tree exist', () => {
  const folders = [...pageAt('docs/architecture.md').text.matchAll(/^(\w+)\/ /gm)].map(([, folder = '']) => folder)
  expect(folders.length).toBeGreaterThan(5)
  expect(folders.filter((folder) => !existsSync(join(root, folder)))).toEqual([])
})

test('blocks of JSON and YAML can be parsed', () => {
  const broken = pages.flatMap(({ path, blocks }) =>
    blocks
      .filter(({ language }) => ['json', 'yaml'].includes(language))
      .filter(({ text }) => !parses(text))
      .map(({ text }) => `${path}: ${text}`),
  )
  expect(broken).toEqual([])
})

/** YAML has JSON in it. */
function parses(text: string): boolean {
  try {
    return typeof parse(text) === 'object'
  } catch {
    return false
  }
}

/** Links and pictures within the project. */
function linksOf(text: string): string[] {
  return [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link).filter((link) => !link.includes('://'))
}

function headingsOf(path: string): string[] {
  const text = readFileSync(join(root, path), 'utf8')
  return [...text.matchAll(/^#+ (.+)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replaceAll(/[^\w\s-]/g, '')
      .trim()
      .replaceAll(/\s/g, '-'),
  )
}
