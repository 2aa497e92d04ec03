// Packs a release into dist: the sources that run, their packages for this architecture with Node and PostgreSQL among them, and the built console.
// It starts on a machine that has neither npm nor its registry nor Node. Built aside and renamed into place. Prints the path of the tarball.
// `--files` prints the sources that would be packed.
import { execFileSync } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const dist = join(root, 'dist')
/** What only developers need. */
const left_out =
  /^(test|bench|\.ci|action)\/|\.test\.tsx?$|^bin\/(dev|pack.*)$|^(vitest\.config\.ts|\.oxfmtrc\.json|\.oxlintrc\.json|Dockerfile.*|\.gitignore)$/

const files = run('git', ['-c', 'safe.directory=*', 'ls-files', '-z'], root)
  .split('\0')
  .filter((path) => path !== '' && !left_out.test(path))
if (process.argv.includes('--files')) {
  console.log(files.join('\n'))
  process.exit()
}

const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const name = `howdah-${version}-linux-${process.arch}`
mkdirSync(dist, { recursive: true })
const aside = mkdtempSync(join(dist, '.release-'))
try {
  const folder = join(aside, name)
  for (const path of files) cpSync(join(root, path), join(folder, path))
  const node = run(process.execPath, [join(folder, 'bin', 'set-up.mjs')], folder).trim()
  run(node, [join(folder, 'console', 'build.ts')], folder)
  const owner = ['--owner=0', '--group=0', '--numeric-owner', '--sort=name']
  run('tar', ['-czf', join(aside, 'release'), ...owner, '-C', aside, name], aside)
  const tarball = join(dist, `${name}.tar.gz`)
  renameSync(join(aside, 'release'), tarball)
  console.error(`${Math.round(statSync(tarball).size / 1e6)} MB`)
  console.log(tarball)
} finally {
  rmSync(aside, { recursive: true, force: true })
}

function run(program, words, cwd) {
  return execFileSync(program, words, {
    cwd,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
    maxBuffer: 2 ** 26,
  })
}
