// Programs of the distribution that some features need, PgBouncer, HAProxy, iproute2 and psql, backups restic, and some tests, xfsprogs, uidmap and Chromium.
// Where they are missing they are installed, as root and by apt-get, once for each installation of Howdah: a host without network starts
// as fast as ever.
// 1. A failure is a warning: features answer for themselves, and `howdah doctor` says what is missing.
// 2. What the distribution starts with them is stopped and does not start at boot, also when we are killed in between.
// 3. Nobody but root is asked for anything or gets anything installed.
// 4. Root runs the system's own programs: the PATH of the caller that starts the server is not searched.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { accessSync, constants, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { withProgress } from './progress.mjs'

const programs = [
  { program: 'pgbouncer', debian_package: 'pgbouncer', daemon: 'pgbouncer' },
  { program: 'haproxy', debian_package: 'haproxy', daemon: 'haproxy' },
  { program: 'ip', debian_package: 'iproute2' },
  // Debian's is a wrapper that may be there without what it wraps.
  { program: 'psql', debian_package: 'postgresql-client', flag: '--version' },
  { program: 'restic', debian_package: 'restic', for_backups: true },
  { program: 'mkfs.xfs', debian_package: 'xfsprogs', for_tests: true },
  { program: 'newuidmap', debian_package: 'uidmap', for_tests: true },
  { program: 'chromium', debian_package: 'chromium', for_tests: true },
]
/** Debian puts servers where ordinary users do not search. */
const system_folders = ['/usr/sbin', '/usr/bin', '/sbin', '/bin', '/usr/local/sbin', '/usr/local/bin']
/** For what goes over the network; unpacking is never cut short. */
const download_timeout_ms = 180_000

/** The marker says what was tried: `installing <packages>` while at it, `tried` ever after. */
export async function ensurePrograms(marker, { for_tests = false, for_backups = false } = {}) {
  if (process.getuid() !== 0 || !isThere('apt-get')) return
  try {
    const tried = existsSync(marker) ? readFileSync(marker, 'utf8') : ''
    if (tried.startsWith('installing ')) finish(tried.split(' ').slice(1), marker)
    // Backups may be wanted long after the first start, so they have a marker of their own.
    const needed = programs.filter((each) =>
      for_backups ? each.for_backups : for_tests || !(each.for_tests || each.for_backups),
    )
    const missing = needed.filter((each) => !works(each)).map((each) => each.debian_package)
    if (missing.length > 0 && tried === '') await install(missing, marker)
  } catch (error) {
    console.error(`Howdah: programs of the distribution were not looked after (${error.message}).`)
  }
}

async function install(packages, marker) {
  writeFileSync(marker, `installing ${packages.join(' ')}`)
  let state = 'looking for packages'
  const tell = (text) => (state = text)
  const title = `installing ${packages.join(', ')} with apt-get (once; needs the distribution's mirror)`
  try {
    await withProgress(
      title,
      () => state,
      async () => {
        try {
          await download(packages, tell)
        } catch {
          // The lists of packages may be missing, as in an image, or too old.
          await aptGet(['update'], tell, download_timeout_ms)
          await download(packages, tell)
        }
        await aptGet(['install', '-y', '--no-install-recommends', ...packages], tell)
      },
    )
  } catch {
    console.error(`Howdah: apt-get could not install ${packages.join(', ')}; what needs them says so, the rest works.`)
  }
  finish(packages, marker)
}

function download(packages, tell) {
  const words = ['install', '-y', '--no-install-recommends', '--download-only', ...packages]
  return aptGet(words, tell, download_timeout_ms)
}

/** apt-get says at a pipe of its own how far it is: `dlstatus:3:45.2:Retrieving file 3 of 7`. */
async function aptGet(command, tell, timeout) {
  const patience = ['-o', 'DPkg::Lock::Timeout=60', '-o', 'Acquire::Retries=1', '-o', 'Acquire::http::Timeout=20']
  const env = { ...process.env, PATH: system_folders.join(':'), DEBIAN_FRONTEND: 'noninteractive' }
  const words = ['-qq', ...patience, '-o', 'APT::Status-Fd=3', ...command]
  const child = spawn('apt-get', words, { stdio: ['ignore', 'ignore', 'ignore', 'pipe'], env, timeout })
  createInterface({ input: child.stdio[3] }).on('line', (line) => {
    const [, kind, percent, what = ''] = /^(dl|pm)status:[^:]*:([\d.]+):(.*)/.exec(line) ?? []
    if (kind) tell(`${kind === 'dl' ? 'download' : 'install'} ${Math.round(Number(percent))} %, ${what}`)
  })
  // Not until the pipe is closed: a daemon that the installation starts may hold it.
  const [code] = await once(child, 'exit')
  child.stdio[3].destroy()
  if (code !== 0) throw new Error(`apt-get ended with ${code}`)
}

/** Howdah runs daemons of its own; those of the distribution would only hold their ports. */
function finish(packages, marker) {
  for (const { daemon } of programs.filter((each) => each.daemon && packages.includes(each.debian_package))) {
    if (existsSync('/run/systemd/system')) run('systemctl', ['disable', '--now', daemon])
    else {
      run('service', [daemon, 'stop'])
      run('update-rc.d', [daemon, 'disable'])
    }
  }
  writeFileSync(marker, 'tried')
}

/** Whether it ended well. A daemon that was not installed has nothing to stop, and a host may manage daemons in another way. */
function run(program, args) {
  try {
    execFileSync(program, args, { stdio: 'ignore', env: { PATH: system_folders.join(':') }, timeout: 60_000 })
    return true
  } catch {
    return false
  }
}

function works({ program, flag }) {
  if (!isThere(program)) return false
  return flag === undefined || run(program, [flag])
}

function isThere(program) {
  return system_folders.some((directory) => {
    try {
      accessSync(join(directory, program), constants.X_OK)
      return true
    } catch {
      return false
    }
  })
}
