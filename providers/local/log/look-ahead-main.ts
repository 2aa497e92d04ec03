// A thread of look-ahead.ts: goes through the files that it was given, and says of each whether a line in it can match.
import { closeSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { block_bytes, blocksBackwards } from './blocks.ts'
import { openLogFile } from './files.ts'
import type { FileQuery, Looked } from './look-ahead.ts'
import { matchingLines } from './matching-lines.ts'
import { newSearch } from './search.ts'
import { rangeOf } from './seek.ts'

for (const query of workerData as FileQuery[]) parentPort?.postMessage(await look(query)) // given by look-ahead.ts

async function look(query: FileQuery): Promise<Looked> {
  const search = newSearch(query)
  const file = openLogFile(query.folder, query.name)
  if (file === undefined) return { may_match: false, bytes: 0 }
  const { low, high } = rangeOf(file, file.size, query)
  try {
    for await (const block of blocksBackwards({ fd: file.fd, low, high }, block_bytes)) {
      if (block.kind === 'long line' || matchingLines(block, search).length > 0) return { may_match: true, bytes: 0 }
    }
    return { may_match: false, bytes: Math.max(0, high - low) }
  } finally {
    closeSync(file.fd)
  }
}
