// Notices within a second when the namespace of a VPC is removed or replaced, and knows which services this
// process has observed in it, so that they get a pass when it has been made again. Losing this state costs only time.
import { statSync } from 'node:fs'
import { newPolling } from '../host/polling.ts'

export type VpcWatch = {
  track(vpc_id: string, path: string): void
  forget(vpc_id: string): void
  /** The service is in this VPC; undefined: in none. */
  assign(service_id: string, vpc_id: string | undefined): void
  tellServices(vpc_id: string): void
  onChange(callback: (vpc_id: string) => void): void
  onServiceChange(callback: (service_id: string) => void): void
  close(): void
}

const poll_every_ms = 1_000

export function newVpcWatch(): VpcWatch {
  const tracked = new Map<string, { path: string; inode: number | undefined }>()
  const vpc_ids = new Map<string, string>()
  const callbacks: ((vpc_id: string) => void)[] = []
  const service_callbacks: ((service_id: string) => void)[] = []
  const forget = (vpc_id: string) => {
    tracked.delete(vpc_id)
    polling.set(tracked.size > 0)
  }

  const polling = newPolling(poll_every_ms, () => {
    const changed = [...tracked].filter(([, { path, inode }]) => inodeOf(path) !== inode).map(([vpc_id]) => vpc_id)
    for (const vpc_id of changed) forget(vpc_id)
    for (const vpc_id of changed) for (const callback of callbacks) callback(vpc_id)
  })

  return {
    track(vpc_id, path) {
      tracked.set(vpc_id, { path, inode: inodeOf(path) })
      polling.set(true)
    },
    forget,
    assign(service_id, vpc_id) {
      if (vpc_id === undefined) vpc_ids.delete(service_id)
      else vpc_ids.set(service_id, vpc_id)
    },
    tellServices(vpc_id) {
      const inside = [...vpc_ids].filter(([, at]) => at === vpc_id)
      for (const [service_id] of inside) for (const callback of service_callbacks) callback(service_id)
    },
    onChange: (callback) => void callbacks.push(callback),
    onServiceChange: (callback) => void service_callbacks.push(callback),
    close() {
      for (const vpc_id of tracked.keys()) forget(vpc_id)
    },
  }
}

/** A path through a dead process may lead anywhere, also to where we may not read. */
function inodeOf(path: string): number | undefined {
  try {
    return statSync(path).ino
  } catch {
    return undefined
  }
}
