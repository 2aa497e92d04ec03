// A run of tests that ends in the middle, by whatever signal, leaves nothing on the host; and the end of a run says which tests were skipped.
import { type ChildProcess, spawn } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { textOrNothing } from '#providers/host/read.ts'
import { possibleParents } from '#test/control-groups.ts'
import { listProcesses } from '#test/data-dir.ts'
import { repository } from '#test/e2e/howdah.ts'
import { listBarriers, listNamespaces } from '#test/networks.ts'
import { sampleOf } from '#test/sample.ts'
import { seedFolder } from '#test/seed.ts'
import { until } from '#test/until.ts'
import { longest } from './order.ts'
import { skippedLines } from './skipped.ts'

/** Of whole runs, on a machine that may be very busy. */
const timeout_ms = 400_000

test('a run that is ended by whatever signal leaves nothing behind', { timeout: 3 * timeout_ms }, async () => {
  const seed = await seedFolder()
  // At once, which also shows that each run removes what is its own.
  const signals = sampleOf(['SIGINT', 'SIGTERM', 'SIGKILL'] as const, 2)
  await Promise.all(signals.map((signal) => endRunBy(signal, seed)))
})

async function endRunBy(signal: NodeJS.Signals, seed: string): Promise<void> {
  const { runner, started } = startRun(seed)
  const { folder, installation_id, killed_pid, killed_uid } = await started
  expect(listProcesses(folder, { by_environment: true }).length).toBeGreaterThan(5)
  const memory = listSharedMemory(folder, killed_pid)
  const memory_files = listMemoryFiles(folder, killed_uid)
  expect([memory.length, memory_files.length]).not.toContain(0)
  runner.kill(signal)
  // The sweeper itself is the last to go.
  const isSwept = () => !existsSync(folder) && listProcesses(folder, { by_environment: true }).length === 0
  await until(isSwept, { interval_ms: 100, timeout_ms, what: `${folder} is swept after ${signal}` })
  expect(readFileSync('/proc/self/mounts', 'utf8')).not.toContain(folder)
  expect(listNamespaces(installation_id)).toEqual([])
  expect(listBarriers(installation_id)).toEqual([])
  expect(possibleParents(installation_id).filter((path) => existsSync(path))).toEqual([])
  expect(listSegments().filter((id) => memory.includes(id))).toEqual([])
  expect(memory_files.filter((path) => existsSync(path))).toEqual([])
}

test('the files that a run begins with are there', () => {
  expect(longest.filter((path) => !existsSync(join(repository, path)))).toEqual([])
})

test('the end of a run names the tests that were skipped, by their reasons', () => {
  const skipped = [
    { file: 'a.test.ts', name: 'one', reason: 'curl is not installed' },
    { file: 'b.test.ts', name: 'two', reason: 'it takes root' },
    { file: 'c.test.ts', name: 'three', reason: 'curl is not installed' },
  ]
  expect(skippedLines(skipped)).toEqual([
    '3 tests were skipped:',
    '  because curl is not installed:',
    '    a.test.ts > one',
    '    c.test.ts > three',
    '  because it takes root:',
    '    b.test.ts > two',
  ])
  expect(skippedLines([])).toEqual([])
})

type Started = { folder: string; installation_id: string; killed_pid: number; killed_uid: number }

/** A run of test/run/hanging.ts alone. */
function startRun(seed: string): { runner: ChildProcess; started: Promise<Started> } {
  const place = mkdtempSync(join(tmpdir(), 'howdah-run-'))
  const file = join(place, 'started.json')
  const runner = spawn(process.execPath, [join(repository, 'node_modules/vitest/vitest.mjs'), 'run'], {
    cwd: repository,
    env: { ...process.env, TEST_FILES: 'test/run/hanging.ts', TEST_STARTED: file, TEST_SEED_FOLDER: seed },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [runner.stdout, runner.stderr]) stream.setEncoding('utf8').on('data', (text) => (output += text))
  onTestFinished(() => {
    runner.kill('SIGKILL')
    rmSync(place, { recursive: true, force: true })
  })
  const isStarted = () => runner.exitCode !== null || (existsSync(file) && readFileSync(file, 'utf8'))
  const started = until(isStarted, { timeout_ms }).then((text) => {
    if (text === true) throw new Error(output)
    return JSON.parse(text) as Started // written by hanging.ts
  })
  return { runner, started }
}

/** The ids of the kernel's segments that processes of the run have made. */
function listSharedMemory(folder: string, killed_pid: number): string[] {
  const running = listProcesses(folder, { by_environment: true }).map(({ pid }) => pid)
  const pids = [...running, killed_pid].map(String)
  return rowsOfMemory().flatMap(([, id = '', , , creator = '']) => (pids.includes(creator) ? [id] : []))
}

/** Files of PostgreSQL that processes of the run have in memory, and those of a user whose server was killed. */
function listMemoryFiles(folder: string, killed_uid: number): string[] {
  const maps = listProcesses(folder, { by_environment: true }).map(({ pid }) => textOrNothing(`/proc/${pid}/maps`))
  const mapped = maps.join('').match(/\/dev\/shm\/PostgreSQL\.\d+/g) ?? []
  const all = readdirSync('/dev/shm').filter((name) => name.startsWith('PostgreSQL.'))
  const paths = all.map((name) => join('/dev/shm', name))
  const is_own = killed_uid !== process.getuid?.()
  const left = paths.filter((path) => is_own && statSync(path, { throwIfNoEntry: false })?.uid === killed_uid)
  return [...new Set([...mapped, ...left])]
}

const listSegments = () => rowsOfMemory().map(([, id = '']) => id)

function rowsOfMemory(): string[][] {
  const lines = readFileSync('/proc/sysvipc/shm', 'utf8').trim().split('\n').slice(1)
  return lines.map((line) => line.trim().split(/\s+/))
}
