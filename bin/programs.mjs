// Programs of the distribution that some features need, PgBouncer, HAProxy and iproute2, backups restic, and some tests, xfsprogs and uidmap.
// Where they are missing they are installed, as root and by apt-get, once for each installation of Howdah: a host without network starts
// as fast as ever.
// 1. A failure is a warning: features answer for themselves, and `howdah doctor` says what is missing.
// 2. What the distribution starts with them is stopped and does not start at boot, also when we are killed in between.
// 3. Nobody but root is asked for anything or gets anything installed.
// 4. Root runs the system's own programs: the PATH of the caller that starts the server is not searched.
import { execFileSync } from 'node:child_process'
import { accessSync, constants, existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const programs = [
  { program: 'pgbouncer', debian_package: 'pgbouncer', daemon: 'pgbouncer' },
  { program: 'haproxy', debian_package: 'haproxy', daemon: 'haproxy' },
  { program: 'ip', debian_package: 'iproute2' },
  { program: 'restic', debian_package: 'restic', for_backups: true },
  { program: 'mkfs.xfs', debian_package: 'xfsprogs', for_tests: true },
  { program: 'newuidmap', debian_package: 'uidmap', for_tests: true },
]
/** Debian puts servers where ordinary users do not search. */
const system_folders = ['/usr/sbin', '/usr/bin', '/sbin', '/bin', '/usr/local/sbin', '/usr/local/bin']
/** For what goes over the network; unpacking is never cut short. */
const download_timeout_ms = 180_000

/** The marker says what was tried: `installing <packages>` while at it, `tried` ever after. */
export function ensurePrograms(marker, { for_tests = false, for_backups = false } = {}) {
  if (process.getuid() !== 0 || !isThere('apt-get')) return
  try {
    const tried = existsSync(marker) ? readFileSync(marker, 'utf8') : ''
    if (tried.startsWith('installing ')) finish(tried.split(' ').slice(1), marker)
    // Backups may be wanted long after the first start, so they have a marker of their own.
    const needed = programs.filter((each) =>
      for_backups ? each.for_backups : for_tests || !(each.for_tests || each.for_backups),
    )
    const missing = needed.filter(({ program }) => !isThere(program)).map((each) => each.debian_package)
    if (missing.length > 0 && tried === '') install(missing, marker)
  } catch (error) {
    console.error(`Howdah: programs of the distribution were not looked after (${error.message}).`)
  }
}

function install(packages, marker) {
  console.error(`Howdah: installing ${packages.join(', ')} with apt-get (once; needs the distribution's mirror) …`)
  writeFileSync(marker, `installing ${packages.join(' ')}`)
  try {
    try {
      download(packages)
    } catch {
      // The lists of packages may be missing, as in an image, or too old.
      aptGet(['update'], download_timeout_ms)
      download(packages)
    }
    aptGet(['install', '-y', '--no-install-recommends', ...packages])
  } catch {
    console.error(`Howdah: apt-get could not install ${packages.join(', ')}; what needs them says so, the rest works.`)
  }
  finish(packages, marker)
}

function download(packages) {
  aptGet(['install', '-y', '--no-install-recommends', '--download-only', ...packages], download_timeout_ms)
}

function aptGet(command, timeout) {
  const patience = ['-o', 'DPkg::Lock::Timeout=60', '-o', 'Acquire::Retries=1', '-o', 'Acquire::http::Timeout=20']
  const env = { ...process.env, PATH: system_folders.join(':'), DEBIAN_FRONTEND: 'noninteractive' }
  execFileSync('apt-get', ['-qq', ...patience, ...command], { stdio: 'ignore', env, timeout })
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

/** What was not installed has nothing to stop. */
function run(program, args) {
  try {
    execFileSync(program, args, { stdio: 'ignore', env: { PATH: system_folders.join(':') }, timeout: 60_000 })
  } catch {
    // Told by nobody, missed by nobody: the daemon is not there, or this host manages daemons in another way.
  }
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
