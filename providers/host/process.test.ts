// Whether a process is at work, by processes that are stopped, killed and not yet collected.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { expect, onTestFinished, test } from 'vitest'
import { until } from '#test/until.ts'
import { findHostProcess, isAtWork } from './process.ts'

test('a process is at work while it runs and while it is stopped, and not from its kill on, though none has collected it', async () => {
  // The shell becomes a program that never collects its child.
  const parent = spawn('/bin/sh', ['-c', 'sleep 600 & echo $!; exec sleep 600'], {
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  const [line] = (await once(parent.stdout, 'data')) as [Buffer] // what the shell says first
  const child = Number(line.toString())
  onTestFinished(() => {
    process.kill(child, 'SIGKILL')
    parent.kill('SIGKILL')
  })
  await until(() => readFileSync(`/proc/${parent.pid}/cmdline`, 'utf8').startsWith('sleep'))

  expect(isAtWork(child)).toBe(true)
  process.kill(child, 'SIGSTOP')
  await until(() => readFileSync(`/proc/${child}/stat`, 'utf8').includes(') T'))
  expect(isAtWork(child)).toBe(true)
  process.kill(child, 'SIGKILL')
  await until(() => !isAtWork(child))
  await until(() => readFileSync(`/proc/${child}/stat`, 'utf8').includes(') Z'))
  expect(isAtWork(child)).toBe(false)
  expect(findHostProcess(child)).toBeUndefined()
})

test('no process hides behind its name', async () => {
  const name = String.raw`a\rState:\tZ`
  const shell = spawn('/bin/sh', ['-c', `printf '${name}' > /proc/$$/comm; echo; read line`])
  onTestFinished(() => void shell.kill('SIGKILL'))
  await once(shell.stdout, 'data')
  expect(readFileSync(`/proc/${shell.pid}/comm`, 'utf8')).toBe('a\rState:\tZ\n')
  expect(findHostProcess(shell.pid ?? 0)).toMatchObject({ pid: shell.pid, parent: process.pid })
})

test('a process that is not there is not at work', () => {
  expect(isAtWork(2 ** 22 + 1)).toBe(false)
})
