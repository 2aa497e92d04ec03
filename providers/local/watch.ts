// Notices when the process of a service is gone, also one that is not our child, within half a second.
// Promises: one call back per death, no mistaking of a reused process id, next to no cost while nothing happens.
// It only looks; what a death means is for the caller to find out.
import { closeSync, openSync, readSync } from 'node:fs'

export type Watch = {
  /** Watching the same process again changes nothing; another process of the same service takes its place. */
  track(service_id: string, pid: number): void
  forget(service_id: string): void
  onChange(callback: (service_id: string) => void): void
  close(): void
}

const look_every_ms = 500

export function newWatch(): Watch {
  const tracked = new Map<string, { pid: number; fd: number | undefined }>()
  const callbacks: ((service_id: string) => void)[] = []
  const buffer = Buffer.alloc(1)
  let timer: NodeJS.Timeout | undefined

  const forget = (service_id: string) => {
    const fd = tracked.get(service_id)?.fd
    if (fd !== undefined) closeSync(fd)
    tracked.delete(service_id)
    if (tracked.size === 0) {
      clearInterval(timer)
      timer = undefined
    }
  }

  const look = () => {
    const gone: string[] = []
    for (const [service_id, { fd }] of tracked) if (fd === undefined || !isAlive(fd, buffer)) gone.push(service_id)
    for (const service_id of gone) forget(service_id)
    for (const service_id of gone) for (const callback of callbacks) callback(service_id)
  }

  return {
    track(service_id, pid) {
      if (tracked.get(service_id)?.pid === pid) return
      forget(service_id)
      tracked.set(service_id, { pid, fd: openProcess(pid) })
      timer ??= setInterval(look, look_every_ms).unref()
    },
    forget,
    onChange(callback) {
      callbacks.push(callback)
    },
    close() {
      for (const service_id of tracked.keys()) forget(service_id)
    },
  }
}

/** An open file of /proc belongs to one process, not to its number: once that process is gone, reading fails for ever. */
function openProcess(pid: number): number | undefined {
  try {
    return openSync(`/proc/${pid}/statm`, 'r')
  } catch {
    return undefined
  }
}

const zero = '0'.charCodeAt(0)

/** A zombie has ended, whoever forgot to collect it: it has no memory left. Half the price of reading its state. */
function isAlive(fd: number, buffer: Buffer): boolean {
  try {
    return readSync(fd, buffer, 0, 1, 0) === 1 && buffer[0] !== zero
  } catch {
    return false
  }
}
