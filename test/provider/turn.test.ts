// Turns among processes: none begins before the other has ended, however the clock is set, and the dead keep no turn.
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { ownName } from '#providers/host/process-name.ts'
import { inTurn } from '#providers/host/turn.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { until } from '#test/until.ts'

const directory = newDataDir()
const turns = join(directory, 'turns')
const counter = join(directory, 'counter')
const module = join(import.meta.dirname, '../../providers/host/turn.ts')

beforeAll(() => {
  mkdirSync(turns)
  writeFileSync(counter, '0')
})
afterAll(() => removeDataDir(directory))

/** Counts so often, each time by reading, waiting and writing; an end that kills leaves its turn behind. */
const program = (times: number, end: string) => `
  import { readFileSync, writeFileSync } from 'node:fs'
  import { setTimeout as pause } from 'node:timers/promises'
  import { inTurn } from ${JSON.stringify(module)}
  for (let time = 0; time < ${times}; time += 1) {
    await inTurn(${JSON.stringify(turns)}, 'service', async () => {
      const before = Number(readFileSync(${JSON.stringify(counter)}, 'utf8'))
      await pause(1)
      writeFileSync(${JSON.stringify(counter)}, String(before + 1))
      if (time === ${times} - 1) ${end}
    })
  }`

const run = (times: number, end = '0') => runModule(program(times, end))

function runModule(text: string) {
  const words = ['--disable-warning=ExperimentalWarning', '--input-type=module-typescript', '-e', text]
  return promisify(execFile)(process.execPath, words, { cwd: import.meta.dirname })
}

test('what four processes and two in one process do in turn is done one after the other', async () => {
  const own = async () => {
    for (let time = 0; time < 30; time += 1) {
      await inTurn(turns, 'service', async () => {
        const before = Number(readFileSync(counter, 'utf8'))
        await new Promise(setImmediate)
        writeFileSync(counter, String(before + 1))
      })
    }
  }
  await Promise.all([run(30), run(30), run(30), run(30), own(), own()])
  expect(readFileSync(counter, 'utf8')).toBe('180')
  expect(readdirSync(turns)).toEqual([])
})

test('the turn of a process that was killed is over', async () => {
  await expect(run(1, `process.kill(process.pid, 'SIGKILL')`)).rejects.toMatchObject({ signal: 'SIGKILL' })
  expect(readdirSync(turns)).toHaveLength(1)
  expect(await inTurn(turns, 'service', async () => readdirSync(turns).length)).toBe(1)
  expect(readdirSync(turns)).toEqual([])
})

test('a process whose clock is set forward waits for its turn', async () => {
  let release = () => {}
  const mine = inTurn(turns, 'service', () => new Promise<void>((resolve) => (release = resolve)))
  await until(() => readdirSync(turns).some((name) => name.endsWith('.held')))
  // The first look at the turns of others is over before anything else runs.
  const other = runModule(`
    import { inTurn } from ${JSON.stringify(module)}
    const now = Date.now
    Date.now = () => now() + 3_600_000
    const its = inTurn(${JSON.stringify(turns)}, 'service', async () => console.log('in turn'))
    await new Promise(setImmediate)
    console.log('has looked')
    await its`)
  await once(other.child.stdout ?? other.child, 'data')
  release()
  await mine
  expect((await other).stdout).toBe('has looked\nin turn\n')
})

test('a process that was stopped for so long that its turn may be another’s has lost it, also when it touches its file again', async () => {
  const waking = performance.now() + 11_000
  let requireAfterwards = () => {}
  await inTurn(turns, 'service', async (requireTurn) => {
    requireTurn()
    const clock = vi.spyOn(performance, 'now').mockReturnValue(waking)
    expect(requireTurn).toThrow('turn was lost')
    clock.mockRestore()
    expect(requireTurn).toThrow('turn was lost')
  })
  await inTurn(turns, 'service', async (requireTurn) => {
    requireAfterwards = requireTurn
  })
  const clock = vi.spyOn(performance, 'now').mockReturnValue(waking)
  expect(requireAfterwards, 'work that outlives its turn needs none').not.toThrow()
  clock.mockRestore()
})

test('a process that stood still while it waited, and was taken for dead, waits anew', async () => {
  const other = runModule(`
    import { once } from 'node:events'
    import { inTurn } from ${JSON.stringify(module)}
    await inTurn(${JSON.stringify(turns)}, 'service', async () => {
      console.log('in turn')
      await once(process.stdin, 'data')
    })
    process.stdin.destroy()`)
  await once(other.child.stdout ?? other.child, 'data')
  const findOwn = () => readdirSync(turns).find((name) => name.endsWith('.wait'))
  const mine = inTurn(turns, 'service', async (requireTurn) => requireTurn())
  await until(() => findOwn() !== undefined)
  const clock = vi.spyOn(performance, 'now').mockReturnValue(performance.now() + 11_000)
  rmSync(join(turns, findOwn() ?? ''))
  await until(() => findOwn() !== undefined)
  clock.mockRestore()
  other.child.stdin?.write('end\n')
  await Promise.all([mine, other])
  expect(readdirSync(turns)).toEqual([])
})

test('of the processes that find the maker of the backups dead, one at a time takes its place', async () => {
  const lock = JSON.stringify(join(import.meta.dirname, '../../server/backup/runner-lock.ts'))
  const runner = join(directory, 'runner')
  const dead = `${ownName().replace(/\d+$/, '0')}\n`
  writeFileSync(runner, dead)
  writeFileSync(counter, '0')
  const takeOver = runModule.bind(
    undefined,
    `
    import { readFileSync, renameSync, writeFileSync } from 'node:fs'
    import { setTimeout as pause } from 'node:timers/promises'
    import { holdRunner } from ${lock}
    const lock = holdRunner(${JSON.stringify(runner)})
    for (let times = 0; times < 30; ) {
      if (!(await lock.isOurs())) continue
      const before = Number(readFileSync(${JSON.stringify(counter)}, 'utf8'))
      await pause(1)
      writeFileSync(${JSON.stringify(counter)}, String(before + 1))
      times += 1
      // As if it had died.
      const aside = ${JSON.stringify(runner)} + process.pid
      writeFileSync(aside, ${JSON.stringify(dead)})
      renameSync(aside, ${JSON.stringify(runner)})
    }
    await lock.release()`,
  )
  await Promise.all([takeOver(), takeOver(), takeOver()])
  expect(readFileSync(counter, 'utf8')).toBe('90')
})

test('what fails gives its turn back, and other keys do not wait for it', async () => {
  await expect(inTurn(turns, 'a', () => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
  const both = inTurn(turns, 'a', () => inTurn(turns, 'b', async () => 'inside both'))
  expect(await both).toBe('inside both')
})
