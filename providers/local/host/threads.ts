// Threads beside the one that serves requests, for work that would keep it busy: each answers questions one after the other.
// They start when they are first needed, and end when nobody has asked for a while: a thread takes some 5 MB. What fails in
// one fails for whoever asked; a thread that ends by itself is replaced.
import { parentPort, Worker } from 'node:worker_threads'
import { errorCode } from './look.ts'

export type Threads<Question, Answer> = {
  count: number
  /** Whoever is about to ask lets them start meanwhile, which takes as long as much of the work. */
  start(): void
  /** Whether there is a thread that would begin with a question at once, or nearly. */
  isFree(): boolean
  ask(question: Question): Promise<Answer>
  close(): Promise<void>
}

type Thread<Answer> = { worker: Worker; ready: boolean; asked: Map<number, PromiseWithResolvers<Answer>> }
type Asked<Question> = { id: number; question: Question }
type Answered<Answer> = { id: number; answer: Answer } | { id: number; failure: { message: string; code?: string } }

const idle_ms_max = 60_000
/** One that it works at, and one that it finds when that is done. */
const asked_when_free_max = 1
/** A thread allocates little; what V8 takes by default for a nursery is more than all the rest. */
const resourceLimits = { maxYoungGenerationSizeMb: 2 }

/** `code`: a file that calls `answerWith`. */
export function newThreads<Question, Answer>(code: URL, count: number): Threads<Question, Answer> {
  let threads: Thread<Answer>[] = []
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
  const begin = (): Thread<Answer> => {
    const worker = new Worker(code, { resourceLimits })
    const thread: Thread<Answer> = { worker, ready: false, asked: new Map() }
    worker.on('message', (answered: Answered<Answer> | 'ready') => {
      thread.ready = true
      if (answered === 'ready') return
      const asked = thread.asked.get(answered.id)
      thread.asked.delete(answered.id)
      if (thread.asked.size === 0) worker.unref()
      if ('answer' in answered) asked?.resolve(answered.answer)
      else asked?.reject(Object.assign(new Error(answered.failure.message), { code: answered.failure.code }))
    })
    const fail = (failure: unknown) => {
      threads = threads.filter((other) => other !== thread)
      for (const asked of thread.asked.values()) asked.reject(failure)
      thread.asked.clear()
    }
    worker.on('error', fail)
    worker.on('exit', () => fail(new Error('a thread has ended')))
    worker.unref()
    return thread
  }
  const start = () => {
    clearTimeout(idle)
    idle = setTimeout(endIfIdle, idle_ms_max).unref()
    while (threads.length < count) threads.push(begin())
  }

  return {
    count,
    start,
    isFree: () => threads.some(({ ready, asked }) => ready && asked.size <= asked_when_free_max),
    ask: (question) => {
      start()
      const [thread] = threads.toSorted((a, b) => a.asked.size - b.asked.size)
      const asked = Promise.withResolvers<Answer>()
      last_id += 1
      thread?.asked.set(last_id, asked)
      // Only one that is asked something keeps the process from ending.
      thread?.worker.ref()
      thread?.worker.postMessage({ id: last_id, question } satisfies Asked<Question>)
      return asked.promise
    },
    close,
  }
}

/** What the code of a thread does with every question. Called there, once. */
export function answerWith(answerTo: (question: never) => unknown): void {
  const answered = ({ id, question }: Asked<never>): Answered<unknown> => {
    try {
      return { id, answer: answerTo(question) }
    } catch (error) {
      const [message, code] = [error instanceof Error ? error.message : String(error), errorCode(error)]
      return { id, failure: { message, ...(code !== undefined && { code }) } }
    }
  }
  parentPort?.on('message', (asked: Asked<never>) => parentPort?.postMessage(answered(asked)))
  parentPort?.postMessage('ready')
}
