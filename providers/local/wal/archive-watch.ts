// Notices when the archive of a running service has stopped taking WAL, without a connection: by a finished segment that
// waits for too long. It calls back once for each stall; the next pass finds out what it means.
import { somethingWaits } from './archive.ts'
import type { Node } from '../host/layout.ts'
import { newPolling } from '../host/polling.ts'

export type ArchiveWatch = {
  track(node: Node): void
  forget(service_id: string): void
  onStall(callback: (service_id: string) => void): void
  close(): void
}

const poll_every_ms = 10_000

export function newArchiveWatch(): ArchiveWatch {
  const tracked = new Map<string, { node: Node; stalled: boolean }>()
  const callbacks: ((service_id: string) => void)[] = []

  const polling = newPolling(poll_every_ms, async () => {
    for (const [service_id, it] of tracked) {
      // A removed folder belongs to a service that is being deleted.
      const stalled = await somethingWaits(it.node).catch(() => false)
      if (stalled && !it.stalled) for (const callback of callbacks) callback(service_id)
      it.stalled = stalled
    }
  })
  polling.set(true)

  return {
    track(node) {
      const before = tracked.get(node.service_id)
      if (before?.node.data !== node.data) tracked.set(node.service_id, { node, stalled: false })
    },
    forget: (service_id) => void tracked.delete(service_id),
    onStall: (callback) => void callbacks.push(callback),
    close() {
      polling.set(false)
      tracked.clear()
    },
  }
}
