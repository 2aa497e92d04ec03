// The real command at a real terminal: the line that tells what is waited for, questions, Ctrl-C, colours, width; and completion in a real
// bash.
import { execFile, spawnSync } from 'node:child_process'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { leaveLogin } from '#cli/first-login.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { howdah, repository } from '#test/e2e/howdah.ts'
import { startInRegion } from '#test/http/region.ts'
import type { TestInstallation } from '#test/installation.ts'
import { until } from '#test/until.ts'
import { atTerminal, why_no_terminal as why } from './pty.ts'

let installation: TestInstallation
let home = ''
let env: Record<string, string> = {}

beforeAll(async () => {
  home = newDataDir()
  installation = await startInRegion()
  env = { HOME: home, XDG_CONFIG_HOME: home, XDG_CACHE_HOME: home, PATH: `${repository}/bin:${process.env['PATH']}` }
  vi.stubEnv('XDG_CONFIG_HOME', home)
  const { server, token, project_id } = installation
  await leaveLogin({ api_url: server.api_url, token, project_id })
  vi.unstubAllEnvs()
})

afterAll(async () => {
  await installation?.stop()
  await removeDataDir(home)
})

const ctrl_c = '\u0003'
const names = async () =>
  (await installation.call<{ name: string }[]>('GET', installation.services)).body.map(({ name }) => name)

test.skipIf(why)(`a removal is asked about, and Ctrl-C is a no${why}`, async () => {
  await installation.createService({ name: 'asked' })
  for (const [keys, code] of [
    ['n\r', 2],
    [ctrl_c, 130],
  ] as const) {
    const terminal = atTerminal('howdah service delete asked', env)
    await terminal.type(/all its data: asked \(\w+\)\? \[y\/N\] /, keys)
    expect(await terminal.exit_code).toBe(code)
    expect(terminal.screen()).toContain('nothing was changed')
    expect(await names()).toContain('asked')
  }
  const terminal = atTerminal('howdah service delete asked', env)
  await terminal.type('[y/N] ', 'y\r')
  expect(await terminal.exit_code).toBe(0)
  expect(terminal.screen()).toMatch(/: removed \(\d+\.\d s\)/)
  expect(await names()).not.toContain('asked')
})

test.skipIf(why)(
  `a line that changes tells what is waited for; Ctrl-C ends the wait and not the work${why}`,
  async () => {
    const terminal = atTerminal('howdah service create patient --region elsewhere', env)
    await terminal.type(/\[K[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] patient: (QUEUED|CONFIGURING).* \(\d+ s\)/, '')
    await terminal.type(/⠋|⠙|⠹|⠸|⠼|⠴|⠦|⠧|⠇|⠏/, ctrl_c)
    expect(await terminal.exit_code).toBe(130)
    expect(terminal.screen()).toContain('stopped waiting; the work goes on')
    expect(await names()).toContain('patient')
  },
)

test.skipIf(why)(`what others wrote does not move the cursor${why}`, async () => {
  const terminal = atTerminal(`howdah service show $'\\e[2Jgone'`, { ...env, SHELL: '/bin/bash' })
  expect(await terminal.exit_code).not.toBe(0)
  expect(terminal.screen()).toContain('[2Jgone')
  expect(terminal.screen()).not.toContain('\u001b[2Jgone')
})

test.skipIf(why)(`colours and the width are the terminal’s; neither is there in a pipe${why}`, async () => {
  await installation.createService({ name: 'a service with quite a long name' })
  const shown = async (command: string, more: Record<string, string> = {}) => {
    const terminal = atTerminal(command, { ...env, ...more })
    await terminal.exit_code
    return terminal.screen()
  }
  expect(await shown('howdah service list')).toContain('\u001b[32mREADY\u001b[0m')
  for (const more of [{ NO_COLOR: '1' }, { TERM: 'dumb' }])
    expect(await shown('howdah service list', more)).not.toContain('\u001b')
  expect(await shown('howdah service list --no-color')).not.toContain('\u001b')
  const narrow = await shown('stty cols 60; howdah service list --no-color')
  expect(Math.max(...narrow.split('\r\n').map((line) => line.length))).toBeLessThanOrEqual(60)
  expect(narrow).toContain('More with -o json: ')
  const piped = await howdah(['service', 'list'], env)
  for (const sign of ['\u001b', 'More with']) expect(piped.stdout).not.toContain(sign)
  expect(piped.stdout).toContain('a service with quite a long name')
})

test.skipIf(why)(`nothing is asked with CI set or --no-input, although there is a terminal${why}`, async () => {
  for (const [command, more] of [
    ['howdah project delete', { CI: 'true' }],
    ['howdah project delete --no-input', {}],
  ] as const) {
    const terminal = atTerminal(command, { ...env, ...more })
    expect(await terminal.exit_code).toBe(2)
    expect(terminal.screen()).toContain('--yes says yes')
  }
})

const why_no_bash = spawnSync('bash', ['--version']).error === undefined ? '' : ' (skipped: bash is not installed)'

test.skipIf(why_no_bash)(`bash completes commands, options, values and names${why_no_bash}`, async () => {
  const { service_id } = await installation.createService({ name: 'completed' })
  const completed = async (...words: string[]) => {
    const script = `eval "$(howdah completion bash)"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _howdah; printf '%s\\n' "\${COMPREPLY[@]}"`
    // Not synchronously: the server is in this process.
    const given = { env: { ...process.env, ...env } }
    const ran = await promisify(execFile)('bash', ['--norc', '-c', script, 'bash', 'howdah', ...words], given)
    expect(ran.stderr).toBe('')
    return ran.stdout.trim().split('\n')
  }
  expect(await completed('serv')).toEqual(['service'])
  expect(await completed('sta')).toEqual(['start', 'status'])
  expect(await completed('service', 'connection')).toEqual(['connection-string'])
  expect(await completed('admin', 'token', 'c')).toEqual(['create'])
  expect(await completed('service', 'list', '--out')).toEqual(['--output'])
  expect(await completed('service', 'list', '--output', 'j')).toEqual(['json'])
  // Names that come too late are left out, and the next Tab may have them.
  await until(async () => (await completed('service', 'get', 'compl')).includes('completed'))
  await until(async () => (await completed('service', 'get', service_id.slice(0, 5))).includes(service_id))
  // What another member calls a service is a word of the line, and no command of it.
  await installation.createService({ name: 'harm$(touch x); `id` * "y' })
  const quoted = String.raw`harm\$\(touch\ x\)\;\ \`id\`\ \*\ \"y`
  await until(async () => (await completed('service', 'get', 'harm')).includes(quoted))
  expect(await completed('completion', 'f')).toEqual(['fish'])
  expect(await completed('service', 'get', 'completed', 'x')).toEqual([''])
})

const why_no_tab = why || why_no_bash

test.skipIf(why_no_tab)(`Tab completes in bash at a terminal${why_no_tab}`, async () => {
  const terminal = atTerminal('bash --norc --noprofile -i', env)
  await terminal.type(/[$#] /, `eval "$(howdah completion bash)"; echo is"" ready\n`)
  await terminal.type(/is ready[^]*[$#] /, 'howdah service connection-s\t')
  await terminal.type('connection-string ', ctrl_c)
  await terminal.type(/[$#] /, 'exit\n')
  await terminal.exit_code
})

test('the scripts of zsh and fish ask the same', async () => {
  for (const shell of ['zsh', 'fish']) {
    const ran = await howdah(['completion', shell], env)
    expect(ran.stdout).toContain('howdah __complete')
  }
  expect((await howdah(['completion', 'cmd'], env)).code).toBe(2)
})

test('output that a full disk does not take is a failure; messages that it does not take are left out', async () => {
  const shell = (line: string) =>
    new Promise<{ code: unknown; stderr: string }>((resolve) => {
      const { PATH = '', ...files } = env
      execFile('sh', ['-c', line], { env: { ...process.env, ...files, PATH } }, (error, _, stderr) =>
        resolve({ code: error?.code ?? 0, stderr }),
      )
    })
  for (const line of ['howdah help', 'howdah project list']) {
    const ran = await shell(`${line} > /dev/full`)
    expect(ran).toMatchObject({ code: 1, stderr: expect.stringContaining('the output cannot be written') })
  }
  expect(await shell('howdah service list -o name 2> /dev/full')).toMatchObject({ code: 0 })
  expect(await shell('howdah nothing 2> /dev/full')).toMatchObject({ code: 2 })
})
