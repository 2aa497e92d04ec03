// Threads that help with copies of trees: a data directory has a thousand small files, and to have their blocks shared keeps
// a processor busy. Whoever copies does its part itself, so nothing depends on them.
import { availableParallelism } from 'node:os'
import { newThreads, type Threads } from '../host/threads.ts'
import type { Batch, Copied } from './copy-batch.ts'

export type Copiers = Threads<Batch, Copied>

const threads_max = 2

export function newCopiers(): Copiers {
  // One processor is for whoever copies.
  const count = Math.min(availableParallelism() - 1, threads_max)
  return newThreads(new URL('./copy-thread.ts', import.meta.url), count)
}
