// The program behind test/provider/no-handles.test.ts: without a single file handle left, what it says of itself.
import { closeSync, openSync } from 'node:fs'
import { findHostProcess, isAtWork } from '#providers/host/process.ts'
import { hasWalAfter } from '#providers/local/ha/wal-tail.ts'
import { nodeOf } from '#providers/local/host/layout.ts'

const messageOf = async (read: () => unknown): Promise<unknown> => {
  try {
    return await read()
  } catch (error) {
    return error instanceof Error ? error.message : error
  }
}

const handles: number[] = []
await messageOf(() => {
  for (;;) handles.push(openSync('/dev/null', 'r'))
})
const lost = nodeOf('/lost', 'lost', 20_001, false)
const reads = [
  () => findHostProcess(process.pid),
  () => isAtWork(process.pid),
  () => hasWalAfter(lost, { timeline: 1, lsn: 0n }),
]
const said: unknown[] = []
for (const read of reads) said.push(await messageOf(read))
for (const handle of handles) closeSync(handle)
console.log(JSON.stringify(said))
