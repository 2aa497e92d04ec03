// The last disk space, occupied by a file of the control plane: a tenant can fill the disk up to it, but never use it. It is
// freed for databases that must go on when the disk is full, once the service that filled it is shut.
import { execFile } from 'node:child_process'
import { renameSync, rmSync, statfsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { system_env } from '../../host/program.ts'

export const reserve_bytes = 128 * 1024 ** 2

export type Reserve = {
  heldBytes(): number
  /** Once at a time, and not again soon where the file system cannot hold space. */
  take(): void
  release(): void
}

const again_ms = 60_000
/** What a server and its metadata store write before they answer, with a new file of WAL. */
export const start_mb_min = 32

/** For a server that is to start on a disk that others have filled. */
export function releaseForStart(folder: string): void {
  const { bavail, bsize } = statfsSync(folder)
  if (bavail * bsize < start_mb_min * 1024 ** 2) openReserve(folder).release()
}

export function openReserve(folder: string): Reserve {
  const path = join(folder, 'reserve')
  const unfinished = `${path}.new`
  let busy_until = 0
  const make = async () => {
    // Blocks, not zeros: zeros can be compressed to nothing.
    await promisify(execFile)('fallocate', ['--length', String(reserve_bytes), unfinished], { env: system_env })
    renameSync(unfinished, path)
  }
  return {
    heldBytes: () => heldBytes(path),
    take() {
      if (heldBytes(path) > 0 || performance.now() < busy_until) return
      busy_until = performance.now() + again_ms
      void make().catch(() => rmSync(unfinished, { force: true }))
    },
    release() {
      if (heldBytes(path) === 0) return
      rmSync(path, { force: true })
      busy_until = 0
    },
  }
}

/** Read each time: another server on this disk may have taken it, or released it. A disk that cannot be read holds none. */
function heldBytes(path: string): number {
  try {
    return (statSync(path, { throwIfNoEntry: false })?.blocks ?? 0) * 512
  } catch {
    return 0
  }
}
