// The README as a stranger meets it: a bare Debian that has git, nodejs and npm, a clone of what is committed, and each command of the README
// pasted once, as root and as an ordinary user; what they print is shown with the clock beside it. TEST_CHROOT names the folder with such a Debian.
// Nothing in it is changed: it lies below an overlay, and all processes and mounts go with the namespaces of the test, however it ends.
import { type ChildProcessByStdio, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { Readable, Writable } from 'node:stream'
import { expect, onTestFinished, test } from 'vitest'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { root as repository } from '#test/sources.ts'
import { until } from '#test/until.ts'
import { pageAt } from './pages.ts'

const chroot = process.env['TEST_CHROOT'] ?? ''
const lacks = ['git', 'node', 'npm'].filter((program) => !existsSync(join(chroot, 'usr/bin', program)))
const why = whyNot()

function whyNot(): string {
  if (chroot === '') return ' (skipped: TEST_CHROOT names no folder with a Debian)'
  if (process.getuid?.() !== 0) return ' (skipped: only root can enter another root)'
  return lacks.length === 0 ? '' : ` (skipped: in ${chroot} is no ${lacks.join(', ')})`
}

const readme = pageAt('README.md')
const shell_blocks = readme.blocks.filter(({ language }) => language === 'sh')
const start = shell_blocks.find(({ text }) => /^npm start$/m.test(text))?.text ?? ''
const tour = shell_blocks.filter(({ not_run }) => not_run === undefined).map(({ text }) => text)
const psql_remedy = /`(apt-get install postgresql-client)`/.exec(readme.text)?.[1] ?? ''
const patience_ms = 900_000

for (const user of ['root', 'stranger']) {
  test.skipIf(why)(
    `each command of the README works on a bare Debian, as ${user}${why}`,
    () => pasteReadme(user),
    patience_ms,
  )
}

async function pasteReadme(user: string): Promise<void> {
  const machine = await newMachine(user)
  onTestFinished(() => console.log(machine.transcript.join('\n')))
  if (user !== 'root' && !existsSync(join(chroot, 'usr/bin/psql'))) {
    expect(await machine.open('root', `apt-get update -qq\n${psql_remedy} -y -qq`).ended).toBe(0)
  }
  const first = machine.open(user, start.replace(/<[^>]+>/, '/howdah.bundle'))
  await until(() => first.child.exitCode !== null || first.said().includes('Ctrl-C'), { timeout_ms: patience_ms })
  expect(first.child.exitCode, first.said()).toBe(null)
  const second = machine.open(user, `cd howdah\n${tour.join('')}`)
  expect(await second.ended, second.said()).toBe(0)
  expect(second.said()).toContain('PostgreSQL 18')
  // The rows that came back.
  expect(second.said()).toMatch(/^ +1000$/m)
  expect(await machine.open(user, 'cd howdah\nbin/howdah stop --all').ended).toBe(0)
  expect(await first.ended).toBe(0)
}

type Machine = { transcript: string[]; open(user: string, pasted: string): Terminal }
type Terminal = { child: ChildProcessByStdio<null, Readable, Readable>; said: () => string; ended: Promise<number> }

async function newMachine(user: string): Promise<Machine> {
  const folder = newDataDir()
  onTestFinished(() => removeDataDir(folder))
  const [root, upper, work] = ['root', 'upper', 'work'].map((name) => {
    mkdirSync(join(folder, name))
    return join(folder, name)
  }) as [string, string, string]
  const branch = execFileSync('git', ['-c', 'safe.directory=*', 'branch', '--show-current'], { cwd: repository })
  const words = ['-c', 'safe.directory=*', 'bundle', 'create', '-q', join(upper, 'howdah.bundle'), 'HEAD']
  execFileSync('git', [...words, ...branch.toString().split('\n').filter(Boolean)], { cwd: repository })
  const mounts = [
    `mount -t overlay overlay -o lowerdir=${chroot},upperdir=${upper},workdir=${work} ${root}`,
    `mount -t proc proc ${root}/proc`,
    `mount --bind /dev ${root}/dev`,
    `mount -t tmpfs tmpfs ${root}/dev/shm`,
    ...(user === 'root' ? [] : [`chroot ${root} useradd --create-home ${user}`]),
  ]
  // It ends, and with it all that runs there, when this process is gone or ends it.
  const keeper = spawn(
    'unshare',
    [
      ...'--mount --pid --ipc --fork --kill-child sh -ec'.split(' '),
      [...mounts, 'echo there', 'cat >/dev/null'].join('\n'),
    ],
    {
      stdio: ['pipe', 'pipe', 'inherit'],
    },
  )
  onTestFinished(() => endOf(keeper))
  await once(keeper.stdout, 'data')
  const inside = readFileSync(`/proc/${keeper.pid}/task/${keeper.pid}/children`, 'utf8').trim()
  const transcript: string[] = []
  const began = performance.now()
  const tell = (line: string) => {
    const seconds = Math.round((performance.now() - began) / 1000)
    transcript.push(`${new Date().toISOString().slice(11, 19)} ${`${seconds} s`.padStart(6)}  ${line}`)
  }
  return { transcript, open: (who, pasted) => openTerminal({ root, inside, who, tell }, pasted) }
}

type Place = { root: string; inside: string; who: string; tell: (line: string) => void }

/** Each line is a command; the first that fails is the last. */
function openTerminal({ root, inside, who, tell }: Place, pasted: string): Terminal {
  const home = who === 'root' ? '/root' : `/home/${who}`
  const lines = pasted.split('\n').filter(Boolean)
  const script = ['shopt -s expand_aliases', 'set -eo pipefail', `cd ${home}`]
  for (const line of lines) script.push(`echo '$ ${line.replaceAll("'", `'\\''`)}'`, line)
  const npm = Object.entries(process.env).filter(([name]) => /^npm_config_|^NODE_EXTRA_CA_CERTS$/.test(name))
  const folders = who === 'root' ? ['/usr/sbin', '/usr/bin', '/sbin', '/bin'] : ['/usr/bin', '/bin']
  const environment = { HOME: home, USER: who, LANG: 'C.UTF-8', PATH: folders.join(':') }
  const settings = Object.entries({ ...environment, ...Object.fromEntries(npm) }).map(
    ([name, value]) => `${name}=${value}`,
  )
  const enter = `--target ${inside} --mount --pid --ipc chroot --userspec=${who} ${root} env -i`.split(' ')
  const child = spawn('nsenter', [...enter, ...settings, 'bash', '-c', script.join('\n')], {
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    createInterface({ input: stream }).on('line', (line) => {
      said += `${line}\n`
      tell(line)
    })
  }
  return { child, said: () => said, ended: once(child, 'close').then(() => child.exitCode ?? 1) }
}

async function endOf(keeper: ChildProcessByStdio<Writable, Readable, null>): Promise<void> {
  if (keeper.exitCode !== null || keeper.signalCode !== null) return
  keeper.kill('SIGKILL')
  await once(keeper, 'exit')
}
