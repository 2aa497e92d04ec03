// Processes of tests get ports of their own: each other range, and within it each other block.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { newServicePorts, type Ports } from './ports.ts'

/** Has its range until its input ends. */
const program = `
  const { newServicePorts } = await import('${join(import.meta.dirname, 'ports.ts')}')
  console.log(JSON.stringify([newServicePorts(), newServicePorts()]))
  process.stdin.resume()`

test('no two processes at once get the same port', async () => {
  const words = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', program]
  const children = [1, 2, 3].map(() => spawn(process.execPath, words, { stdio: ['pipe', 'pipe', 'inherit'] }))
  try {
    const lines = await Promise.all(children.map((child) => once(child.stdout, 'data')))
    const theirs = lines.flatMap(([line]) => JSON.parse(String(line)) as Ports[]) // what the program above prints
    const all = [...theirs, newServicePorts(), newServicePorts()].flatMap(({ first, last }) =>
      Array.from({ length: last - first + 1 }, (_, at) => first + at),
    )
    expect(all).toHaveLength(8 * 40)
    expect(new Set(all).size).toBe(all.length)
  } finally {
    for (const child of children) child.stdin.end()
  }
})
