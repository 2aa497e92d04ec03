// The program behind test/provider/no-handles.test.ts: without a single file handle left, what it says of itself.
import { closeSync, openSync } from 'node:fs'
import { findHostProcess, isAtWork } from '#providers/host/process.ts'

const messageOf = (read: () => unknown): unknown => {
  try {
    return read()
  } catch (error) {
    return error instanceof Error ? error.message : error
  }
}

const handles: number[] = []
messageOf(() => {
  for (;;) handles.push(openSync('/dev/null', 'r'))
})
const said = [messageOf(() => findHostProcess(process.pid)), messageOf(() => isAtWork(process.pid))]
for (const handle of handles) closeSync(handle)
console.log(JSON.stringify(said))
