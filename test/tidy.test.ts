// The structure of the tree as a test: who may import whom, how long a file is, how it opens, and what the style bans.
// It reads text, not types: cheap, and its rules can be read here.
import { readdirSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type Folder, folders, importsOf, production, root, type Source, sources } from './sources.ts'

/** What production code of each folder may import of ours, besides itself. */
const may_import: Record<Folder, readonly Folder[]> = {
  contract: [],
  console: ['contract'],
  providers: [],
  mcp: ['contract'],
  server: ['contract', 'providers', 'mcp'],
  cli: ['contract', 'providers', 'server', 'mcp'],
  test: folders,
  bench: folders,
}

const lines_max = 300
const head_lines_min = 1
const banned_file_names = ['utils', 'util', 'common', 'helpers', 'helper', 'manager', 'base', 'types', 'index']

test('there is something to check', () => {
  expect(sources.length).toBeGreaterThan(20)
})

describe('direction of imports', () => {
  test('each folder imports only what lies below it', () => {
    const wrong = production.flatMap((source) =>
      importsOf(source)
        .map((target) => ({ target, folder: folderOf(source, target) }))
        .filter(({ folder }) => folder !== undefined && folder !== source.folder)
        .filter(({ folder }) => !may_import[source.folder].includes(folder as Folder))
        .map(({ target }) => `${source.path} imports ${target}`),
    )
    expect(wrong).toEqual([])
  })

  test('of the schema library only types are taken: what runs is installed without it', () => {
    const wrong = production.filter((source) => /^import (?!type\b).*'typebox/m.test(source.text))
    expect(wrong.map((source) => source.path)).toEqual([])
  })

  test('the contract runs in a browser: it imports the schema library’s types and itself', () => {
    const wrong = production
      .filter((source) => source.folder === 'contract')
      .flatMap((source) => importsOf(source).map((target) => [source.path, target] as const))
      .filter(([, target]) => !target.startsWith('.') && target !== 'typebox')
    expect(wrong).toEqual([])
  })

  test('one folder reaches another by its name, and itself by a relative path, with the file suffix', () => {
    const wrong = sources.flatMap((source) =>
      importsOf(source)
        .filter((target) => {
          const folder = folderOf(source, target)
          if (folder === undefined) return false
          if (!/\.(tsx?|css)$/.test(target)) return true
          // A test may name its own folder: from three levels down that reads better than dots.
          return folder === source.folder ? target.startsWith('#') && folder !== 'test' : !target.startsWith('#')
        })
        .map((target) => `${source.path} imports ${target}`),
    )
    expect(wrong).toEqual([])
  })

  test('a user’s commands know the contract and no server: they run where none is installed', () => {
    const wrong = production
      .filter(({ path }) => path.startsWith('cli/user/'))
      .filter(({ text }) => /from '#(server|providers)\/|import\('#(server|providers)\/|import\('\.\.\//.test(text))
    expect(wrong.map(({ path }) => path)).toEqual([])
  })

  test('nothing that ships imports a test or a bench', () => {
    const wrong = production.filter((source) => /from '#(test|bench)\//.test(source.text)).map((source) => source.path)
    expect(wrong).toEqual([])
  })
})

describe('files', () => {
  test(`no file is longer than ${lines_max} lines`, () => {
    const long = sources.filter((source) => source.text.split('\n').length - 1 > lines_max)
    expect(long.map((source) => source.path)).toEqual([])
  })

  test('every file opens with a comment that says what it is', () => {
    const silent = sources.filter((source) => headLines(source.text) < head_lines_min)
    expect(silent.map((source) => source.path)).toEqual([])
  })

  test('a file is named after a thing, in lower case with hyphens', () => {
    const wrong = sources
      .map((source) => source.path)
      .filter((path) => {
        const name = basename(path).replace(/(\.test)?\.tsx?$/, '')
        return banned_file_names.includes(name) || !/^[a-z0-9]+(-[a-z0-9]+)*$/.test(name)
      })
    expect(wrong).toEqual([])
  })
})

describe('bans of the style', () => {
  const bans: { what: string; pattern: RegExp; where: (source: Source) => boolean }[] = [
    { what: 'enum', pattern: /^\s*(export )?(declare )?(const )?enum\s/m, where: everywhere },
    { what: 'any', pattern: /(:|<|\bas|\|)\s*any\b(?!\s+[a-z])/, where: everywhere },
    { what: 'namespace', pattern: /^\s*(export )?(declare )?namespace\s/m, where: everywhere },
    { what: 'default export', pattern: /^export default /m, where: everywhere },
    {
      what: 'parameter properties or decorators',
      pattern: /constructor\([^)]*\b(private|public|readonly)\s/,
      where: everywhere,
    },
    { what: 'a skipped or focused test', pattern: /\b(test|it|describe)\.(only|skip|todo)\b/, where: everywhere },
    {
      what: 'a constant in capitals',
      pattern: /^\s*(export )?const [A-Z][A-Z0-9]*_[A-Z0-9_]*\b/m,
      where: everywhere,
    },
    {
      what: 'console',
      pattern: /\bconsole\.\w/,
      where: (source) => !source.is_test && ['contract', 'console', 'providers', 'server'].includes(source.folder),
    },
    {
      what: 'HTML from text, and no style attribute in it',
      pattern: /dangerouslySetInnerHTML|innerHTML|outerHTML|insertAdjacentHTML|document\.write/,
      where: (source) => source.folder === 'console',
    },
    {
      what: 'request of the console beside its client',
      pattern: /\bfetch\(|\bXMLHttpRequest\b|\bEventSource\b|\bWebSocket\b|\bsendBeacon\b/,
      where: ({ folder, path }) => folder === 'console' && !/^console\/(query|live|session)\.ts$/.test(path),
    },
    {
      what: 'a class that is no error',
      pattern:
        /^\s*(export )?(abstract )?class \w+(?! extends \w*(Error|Fault)\b)(\s|<|\{)(?!extends \w*(Error|Fault)\b)/m,
      where: everywhere,
    },
  ]
  test.each(bans)('no $what', ({ pattern, where }) => {
    const wrong = sources
      .filter(where)
      .filter((source) => pattern.test(withoutText(source.text)))
      .map((source) => source.path)
    expect(wrong).toEqual([])
  })
})

/** Paths that only programs of the service's own user are told, and never the system by us. */
const told_to_others = [
  'ha/promotion',
  'ha/wal-tail',
  'haproxy/settings',
  'postgres/archive-settings',
  'postgres/settings',
]

test('what lies below a folder of a service’s user is reached by tenant-files.ts alone', () => {
  const folder = String.raw`(?:[\w.?]+\.)?(?:data|archive|log|tail|sockets|service_sockets)\b`
  const builds_path = new RegExp(String.raw`\bjoin\(\s*${folder}|\$\{${folder}\}/`)
  const wrong = production
    .filter(({ path }) => path.startsWith('providers/local/') && path !== 'providers/local/host/tenant-files.ts')
    .filter(({ path }) => !told_to_others.some((name) => path === `providers/local/${name}.ts`))
    .filter(({ text }) => builds_path.test(withoutText(text)))
    .map(({ path }) => path)
  expect(wrong).toEqual([])
})

test('deadlines within the process are told by the clock that cannot be set', () => {
  const wrong = production.filter(({ text }) => /deadline.*\bDate\.now\b|\bDate\.now\b.*deadline/.test(text))
  expect(wrong.map(({ path }) => path)).toEqual([])
})

test('a test that can be skipped says why in its name, so that the end of a run can tell', () => {
  const with_reason = /\.skipIf\((\w+)\)\(\s*`[^`]*\$\{\1\}`/g
  const wrong = sources
    .filter(({ is_test, path }) => is_test && path !== 'test/tidy.test.ts')
    .filter(({ text }) => {
      const skipping = text.match(/\.(skipIf|runIf)\(|context\.skip\(\)/g) ?? []
      return skipping.length > (text.match(with_reason) ?? []).length
    })
    .map(({ path }) => path)
  expect(wrong).toEqual([])
})

test('tests of the API know no host: what a region has on its disk is for test/local', () => {
  const knows_host =
    /['/]providers\/local|node:fs|node:os|data_dir|dataDir|openInstallation|\bstartInstallation\b|startServerProcess|\/(network|history|traces|networks|privileges|data-dir)(\/[\w-]+)?\.ts'/
  const wrong = sources
    .filter(({ path }) => path.startsWith('test/http/') && path !== 'test/http/region.ts')
    .flatMap(({ path, text }) =>
      text.split('\n').flatMap((line) => (knows_host.test(line) ? [`${path}: ${line}`] : [])),
    )
  expect(wrong).toEqual([])
})

/** Subjects without a name in the code: whose reader has to guess which process or person is meant. */
const nameless = /\b(nobody|somebody|whoever|everybody|anybody|someone|anyone|everyone|one that|what was|it is so)\b/i

test('the subject of a sentence is a noun of the code', () => {
  const in_docs = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))
  const pages = [
    'README.md',
    'SECURITY.md',
    'CONTRIBUTING.md',
    'CHANGELOG.md',
    ...in_docs.map((name) => `docs/${name}`),
  ]
  const texts = [
    ...production.map(({ path, text }) => ({ path, text })),
    ...pages.map((path) => ({ path, text: readFileSync(join(root, path), 'utf8') })),
  ]
  const wrong = texts.flatMap(({ path, text }) =>
    text.split('\n').flatMap((line, index) => (nameless.test(line) ? [`${path}:${index + 1}: ${line.trim()}`] : [])),
  )
  expect(wrong).toEqual([])
})

test('no comment announces undone work or silences the type checker', () => {
  const wrong = sources.filter((source) =>
    /\bTO[D]O\b|\bFIX[M]E\b|@ts[-](ignore|nocheck|expect[-]error)/.test(source.text),
  )
  expect(wrong.map((source) => source.path)).toEqual([])
})

function everywhere(): boolean {
  return true
}

/** The folder of ours that an import reaches; undefined for packages. */
function folderOf(source: Source, target: string): Folder | undefined {
  const path = target.startsWith('#')
    ? target.slice(1)
    : target.startsWith('.')
      ? relative(root, join(root, dirname(source.path), target))
      : undefined
  return folders.find((folder) => path?.startsWith(`${folder}/`))
}

/** How many lines of comment stand at the very top. */
function headLines(text: string): number {
  const lines = text.split('\n')
  const first = lines[0]?.startsWith('#!') ? 1 : 0
  const end = lines.findIndex((line, index) => index >= first && !line.startsWith('//'))
  return (end === -1 ? lines.length : end) - first
}

/** The code without quoted text and without comments of a line, where banned words are only words. */
function withoutText(text: string): string {
  return text.replaceAll(/'(?:[^'\\\n]|\\.)*'/g, "''").replaceAll(/^\s*(?:\/\/|\*|\/\*\*).*$/gm, '')
}
