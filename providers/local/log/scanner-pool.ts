// The memory in which searches work, lent out: however many search at once, a few of them run and the others wait their
// turn, so that no number of requests makes the process grow or takes more than its share of the machine.
import { bufferBytesOf } from './blocks.ts'
import { newScanner, type Scanner } from './scanner.ts'

export type ScannerPool = { with<T>(work: (scanner: Scanner) => Promise<T>): Promise<T> }

/** Large enough that handing blocks from thread to thread costs little beside reading them. */
export const search_block_bytes = 1024 * 1024
/** One is looked at while two are being read. */
const buffers_per_scanner = 3
const scanners_max = 4

export function newScannerPool(): ScannerPool {
  const idle: Scanner[] = []
  const waiting: ((scanner: Scanner) => void)[] = []
  let made = 0
  const borrow = async (): Promise<Scanner> => {
    const scanner = idle.pop()
    if (scanner !== undefined) return scanner
    if (made === scanners_max) return await new Promise((resolve) => waiting.push(resolve))
    made += 1
    return newScanner(buffers_per_scanner, bufferBytesOf(search_block_bytes))
  }
  return {
    with: async (work) => {
      const scanner = await borrow()
      try {
        return await work(scanner)
      } finally {
        const next = waiting.shift()
        if (next === undefined) idle.push(scanner)
        else next(scanner)
      }
    },
  }
}
