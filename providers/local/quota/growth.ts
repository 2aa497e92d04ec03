// Which of the running services take disk space right now. Called again and again while the disk has little left: the first call
// records processor times, the next walks the files of services that used some, and from then on it knows which grew.
// Everything that grows counts, also what no quota counts: temporary files, logs, unlogged tables.
import type { Node } from '../host/layout.ts'
import type { ProcessorTime } from '../host/processor-time.ts'
import { storageOf } from '../host/storage.ts'

export type Running = { node: Node; pid: number }

export type Growth = {
  /** The services that grew since the last call. */
  growing(running: Iterable<Running>): Promise<Node[]>
  /** Drops the records, which are old. */
  reset(): void
}

/** A writer that uses less can be waited for. */
const busy_cpu_ns = 2_000_000
/** Background writers and statistics write less. */
const growth_bytes = 1024 ** 2
/** An idle service too begins its next WAL file now and then, which has its whole size at once. */
const wal_growth_bytes = 16 * 1024 ** 2

type Bytes = { wal: number; rest: number }

export function newGrowth(processorTime: ProcessorTime): Growth {
  let known = new Map<string, { cpu_ns: number; bytes?: Bytes | undefined }>()
  return {
    async growing(running) {
      const next: typeof known = new Map()
      const growing: Node[] = []
      for (const { node, pid } of running) {
        const cpu_ns = processorTime(node, pid)
        if (cpu_ns === undefined) continue
        const before = known.get(node.data)
        const busy = before !== undefined && cpu_ns - before.cpu_ns > busy_cpu_ns
        const bytes = busy ? await bytesOf(node) : before?.bytes
        next.set(node.data, { cpu_ns, bytes })
        if (busy && grew(before.bytes, bytes)) growing.push(node)
      }
      known = next
      return growing
    },
    reset: () => known.clear(),
  }
}

function grew(before: Bytes | undefined, bytes: Bytes | undefined): boolean {
  if (before === undefined || bytes === undefined) return false
  return bytes.rest - before.rest > growth_bytes || bytes.wal - before.wal > wal_growth_bytes
}

async function bytesOf({ data, archive, log }: Node): Promise<Bytes> {
  const wal = await storageOf(data, { from: 'pg_wal' })
  const rest = (await storageOf(data, { without: 'pg_wal' })) + (await storageOf(archive)) + (await storageOf(log))
  return { wal, rest }
}
