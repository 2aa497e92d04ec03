// Packs the contract as the package @howdah/client into dist: compiled, because Node strips no types below node_modules. There is no
// second truth and no generator: what is packed are the files of contract/ that its four entries reach.
// Built aside and renamed into place. Prints the path of the tarball.
import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const dist = join(root, 'dist')
const entries = { '.': 'howdah', './contract': 'api', './connection': 'connection', './testing': 'testing' }

const { version, license, devDependencies } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
mkdirSync(dist, { recursive: true })
const aside = mkdtempSync(join(dist, '.client-'))
try {
  compile()
  writeFileSync(join(aside, 'package.json'), `${JSON.stringify(description(), undefined, 2)}\n`)
  writeFileSync(join(aside, 'README.md'), readFileSync(join(root, 'docs', 'client.md')))
  const [{ filename }] = JSON.parse(run('npm', ['pack', '--json', '--ignore-scripts', '--loglevel=error'], aside))
  renameSync(join(aside, filename), join(dist, filename))
  console.log(join(dist, filename))
} finally {
  rmSync(aside, { recursive: true, force: true })
}

function compile() {
  const options = ['--target', 'es2022', '--rewriteRelativeImportExtensions', '--declaration', '--noEmit', 'false']
  const settings = join(aside, 'tsconfig.json')
  const files = Object.values(entries).map((entry) => join(root, 'contract', `${entry}.ts`))
  writeFileSync(settings, JSON.stringify({ extends: join(root, 'tsconfig.json'), files, include: [] }))
  const places = ['--rootDir', join(root, 'contract'), '--outDir', aside]
  run(process.execPath, [join(root, 'node_modules/typescript7/bin/tsc'), '-p', settings, ...options, ...places], root)
  rmSync(settings)
}

function description() {
  const exports = Object.entries(entries).map(([name, entry]) => [name, `./${entry}.js`])
  return {
    name: '@howdah/client',
    version,
    description: 'The client of Howdah, a control plane for PostgreSQL services',
    license,
    type: 'module',
    sideEffects: false,
    engines: { node: '>=20' },
    exports: { ...Object.fromEntries(exports), './contract/*': './*.js' },
    // Of its types only: nothing of it is loaded.
    dependencies: { typebox: devDependencies.typebox },
  }
}

function run(program, words, cwd) {
  return execFileSync(program, words, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
}
