// Threads in which searches look through log files: as many as the machine has processors, for all searches together, which
// take turns stretch by stretch. So no number of searches takes more memory or keeps the server from answering others.
// They start with the first search, and end when nobody has searched for a while.
import { availableParallelism } from 'node:os'
import { Worker } from 'node:worker_threads'
import type { Answer, Question, Stretch } from './scanner-thread.ts'

export type ScannerPool = {
  threads: number
  /** Where signs start in a stretch, in order; at least one place in each line that has one. */
  find(stretch: Stretch): Promise<number[]>
  close(): Promise<void>
}

type Thread = { worker: Worker; asked: Map<number, PromiseWithResolvers<number[]>> }

const threads_max = 4
const idle_ms_max = 60_000
/** A thread allocates little; what V8 takes by default for a nursery is more than all the rest. */
const resourceLimits = { maxYoungGenerationSizeMb: 2 }

export function newScannerPool(): ScannerPool {
  const count = Math.min(availableParallelism(), threads_max)
  let threads: Thread[] = []
  let idle: NodeJS.Timeout | undefined
  let last_id = 0

  const close = async () => {
    clearTimeout(idle)
    const ended = threads
    threads = []
    await Promise.all(ended.map(({ worker }) => worker.terminate()))
  }
  const endIfIdle = () => {
    // A slow disk is no reason to fail who waits for it.
    if (threads.some(({ asked }) => asked.size > 0)) idle?.refresh()
    else void close()
  }
  const start = (): Thread => {
    const worker = new Worker(new URL('./scanner-thread.ts', import.meta.url), { resourceLimits })
    const thread: Thread = { worker, asked: new Map() }
    worker.on('message', (answer: Answer) => {
      const asked = thread.asked.get(answer.id)
      thread.asked.delete(answer.id)
      if (thread.asked.size === 0) worker.unref()
      if ('places' in answer) asked?.resolve(answer.places)
      else asked?.reject(answer.failure)
    })
    const fail = (failure: unknown) => {
      threads = threads.filter((other) => other !== thread)
      for (const asked of thread.asked.values()) asked.reject(failure)
      thread.asked.clear()
    }
    worker.on('error', fail)
    worker.on('exit', () => fail(new Error('the thread of a search has ended')))
    worker.unref()
    return thread
  }

  return {
    threads: count,
    find: (stretch) => {
      clearTimeout(idle)
      idle = setTimeout(endIfIdle, idle_ms_max).unref()
      while (threads.length < count) threads.push(start())
      const [thread] = threads.toSorted((a, b) => a.asked.size - b.asked.size)
      const asked = Promise.withResolvers<number[]>()
      last_id += 1
      thread?.asked.set(last_id, asked)
      // Only one that is asked something keeps the process from ending.
      thread?.worker.ref()
      thread?.worker.postMessage({ ...stretch, id: last_id } satisfies Question)
      return asked.promise
    },
    close,
  }
}
