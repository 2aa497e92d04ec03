// Packs the user's commands as the package @howdah/cli into dist: for machines that have no server. One file, no dependencies, and the pages
// of docs/, which agents read. Prints the path of the tarball.
import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { bundleTo, root } from './bundle.mjs'

const dist = join(root, 'dist')
const { version, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const description = {
  name: '@howdah/cli',
  version,
  description: 'The command of Howdah, a control plane for PostgreSQL services',
  license,
  type: 'module',
  engines: { node: '>=20' },
  bin: { howdah: 'bin/howdah.mjs' },
}

mkdirSync(dist, { recursive: true })
const aside = mkdtempSync(join(dist, '.cli-'))
try {
  mkdirSync(join(aside, 'bin'))
  await bundleTo(join(aside, 'bin', 'howdah.mjs'))
  chmodSync(join(aside, 'bin', 'howdah.mjs'), 0o755)
  writeFileSync(join(aside, 'package.json'), `${JSON.stringify(description, undefined, 2)}\n`)
  writeFileSync(join(aside, 'README.md'), readFileSync(join(root, 'docs', 'cli.md')))
  cpSync(join(root, 'docs'), join(aside, 'docs'), { recursive: true, filter: (path) => !/\/pictures(\/|$)/.test(path) })
  const words = ['pack', '--json', '--ignore-scripts', '--loglevel=error']
  const packed = execFileSync('npm', words, { cwd: aside, encoding: 'utf8', stdio: ['ignore', 'pipe', 'inherit'] })
  const [{ filename }] = JSON.parse(packed)
  renameSync(join(aside, filename), join(dist, filename))
  console.log(join(dist, filename))
} finally {
  rmSync(aside, { recursive: true, force: true })
}
