// Turns among processes: none begins before the other has ended, and the dead keep no turn.
import { execFile } from 'node:child_process'
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { inTurn } from '#providers/local/host/turn.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'

const directory = newDataDir()
const turns = join(directory, 'turns')
const counter = join(directory, 'counter')

beforeAll(() => {
  mkdirSync(turns)
  writeFileSync(counter, '0')
})
afterAll(() => removeDataDir(directory))

/** Counts so often, each time by reading, waiting and writing; an end that kills leaves its turn behind. */
const program = (times: number, end: string) => `
  import { readFileSync, writeFileSync } from 'node:fs'
  import { setTimeout as pause } from 'node:timers/promises'
  import { inTurn } from ${JSON.stringify(join(import.meta.dirname, '../../providers/local/host/turn.ts'))}
  for (let time = 0; time < ${times}; time += 1) {
    await inTurn(${JSON.stringify(turns)}, 'service', async () => {
      const before = Number(readFileSync(${JSON.stringify(counter)}, 'utf8'))
      await pause(1)
      writeFileSync(${JSON.stringify(counter)}, String(before + 1))
      if (time === ${times} - 1) ${end}
    })
  }`

const run = (times: number, end = '0') => {
  const words = ['--disable-warning=ExperimentalWarning', '--input-type=module-typescript', '-e', program(times, end)]
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

test('what fails gives its turn back, and other keys do not wait for it', async () => {
  await expect(inTurn(turns, 'a', () => Promise.reject(new Error('failed')))).rejects.toThrow('failed')
  const both = inTurn(turns, 'a', () => inTurn(turns, 'b', async () => 'inside both'))
  expect(await both).toBe('inside both')
})
