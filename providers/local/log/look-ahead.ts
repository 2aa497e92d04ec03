// Looks through the older files of a large log ahead of a search, in two threads: most of them hold no line that can match, and are passed
// over. So a search of gigabytes takes two processors, and next to none of the time that the server has for other requests.
// One search at a time has them: the others read every file themselves.
import { on } from 'node:events'
import { lstatSync } from 'node:fs'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import type { LogFilter, LogQuery } from '../../log.ts'

/** A file, and what is looked for in it. */
export type FileQuery = LogFilter & Pick<LogQuery, 'since_ms' | 'until_ms'> & { folder: string; name: string }

/** `bytes`: how many were read. */
export type Looked = { may_match: boolean; bytes: number }

const program = new URL('look-ahead-main.ts', import.meta.url)
const threads = 2
/** Threads take some 50 ms to start. */
const log_bytes_min = 64 * 1024 ** 2
const thread_memory_mb = 64

let busy = false

/** One answer a file, in their order; none at all where threads are not worth it or not to be had. */
export async function* lookAhead(files: readonly FileQuery[]): AsyncGenerator<Looked, undefined> {
  if (busy || files.reduce((sum, file) => sum + bytesOf(file), 0) < log_bytes_min) return
  const workers = Array.from({ length: threads }, (_, part) => {
    const workerData = files.filter((_, at) => at % threads === part)
    return new Worker(program, { workerData, resourceLimits: { maxOldGenerationSizeMb: thread_memory_mb } })
  })
  busy = true
  try {
    const answers = workers.map((worker) => on(worker, 'message', { close: ['exit'] }))
    for (const at of files.keys()) {
      const { value, done } = (await answers[at % threads]?.next()) ?? { done: true }
      if (done === true) return
      yield (value as [Looked])[0] // as the program says it
    }
  } finally {
    await Promise.all(workers.map((worker) => worker.terminate()))
    busy = false
  }
}

function bytesOf({ folder, name }: FileQuery): number {
  return lstatSync(join(folder, name), { throwIfNoEntry: false })?.size ?? 0
}
