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

/** Enough for the process id, the name in brackets (at most 64 bytes) and the state, all that is read here. */
const stat_bytes = 128

export function newWatch(): Watch {
  const tracked = new Map<string, { pid: number; fd: number | undefined }>()
  const callbacks: ((service_id: string) => void)[] = []
  const buffer = Buffer.alloc(stat_bytes)
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
    const gone = [...tracked].filter(([, { fd }]) => fd === undefined || !isAlive(fd, buffer))
    for (const [service_id] of gone) forget(service_id)
    for (const [service_id] of gone) for (const callback of callbacks) callback(service_id)
  }

  return {
    track(service_id, pid) {
      if (tracked.get(service_id)?.pid === pid) return
      forget(service_id)
      tracked.set(service_id, { pid, fd: openStat(pid) })
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

/** An open stat file belongs to one process, not to its number: once that process is gone, reading fails for ever. */
function openStat(pid: number): number | undefined {
  try {
    return openSync(`/proc/${pid}/stat`, 'r')
  } catch {
    return undefined
  }
}

/** A zombie has ended, whoever forgot to collect it. */
function isAlive(fd: number, buffer: Buffer): boolean {
  try {
    const length = readSync(fd, buffer, 0, stat_bytes, 0)
    // The name may itself contain brackets and spaces; the state follows the last bracket.
    const state = String.fromCharCode(buffer[buffer.lastIndexOf(')', length) + 2] ?? 0)
    return !'ZX'.includes(state)
  } catch {
    return false
  }
}
