// Threads in which searches look through log files: as many as the machine has processors, for all searches together, which
// take turns stretch by stretch. So no number of searches takes more memory or keeps the server from answering others.
import { availableParallelism } from 'node:os'
import { newThreads, type Threads } from '../host/threads.ts'
import type { Stretch } from './scanner-thread.ts'

/** The answer: where signs start in a stretch, in order; at least one place in each line that has one. */
export type ScannerPool = Threads<Stretch, number[]>

const threads_max = 4

export function newScannerPool(): ScannerPool {
  return newThreads(new URL('./scanner-thread.ts', import.meta.url), Math.min(availableParallelism(), threads_max))
}
