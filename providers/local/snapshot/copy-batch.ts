// Some files of one open folder, copied at once: the small ones. Runs wherever there is a thread for it, so it is told all
// that it needs by value; an open folder is the same in all threads of a process.
import { chmodSync, closeSync, constants, lchownSync } from 'node:fs'
import { join } from 'node:path'
import { errorCode } from '../host/look.ts'
import { requireRoom, room_every_bytes } from '../host/room.ts'
import { openIn, type OpenFolder } from '../host/tenant-files.ts'
import { type Cloning, copyIfSmall, type Seen } from './live-file.ts'

/** How the files of a tree are copied. */
export type Manner = {
  owner?: { uid: number; gid: number }
  /** The tree is alive: an entry that vanishes or is replaced between seeing and copying it is left out. */
  tolerate_missing?: boolean
  /** For programs, not data: everybody may read, and run what the owner may run. */
  public?: boolean
}

export type Batch = Manner & { from: OpenFolder; names: readonly string[]; to: string; cloning: Cloning }

/** `large`: those that are for the caller to copy. */
export type Copied = { bytes: number; large: string[]; cloning_possible: boolean }

export function copyBatch({ from, names, to, ...batch }: Batch): Copied {
  const cloning = { ...batch.cloning }
  const large: string[] = []
  let [bytes, room_seen_at] = [0, 0]
  for (const name of names) {
    if (cloning.leave_room && bytes - room_seen_at >= room_every_bytes) {
      requireRoom(to)
      room_seen_at = bytes
    }
    forgiving(batch, () => {
      const source = openIn(from, name)
      try {
        const seen = copyIfSmall(source, join(to, name), cloning)
        if (seen === undefined) large.push(name)
        else settleFile(batch, join(to, name), seen)
        bytes += seen?.size ?? 0
      } finally {
        closeSync(source)
      }
    })
  }
  return { bytes, large, cloning_possible: cloning.possible }
}

/** Undefined when there is nothing any more where something was seen, in a tree that is alive. */
export function forgiving<Value>({ tolerate_missing }: Manner, work: () => Value): Value | undefined {
  try {
    return work()
  } catch (error) {
    if (tolerate_missing && errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

/** At once: microseconds each on an inode just made, and a round trip through other threads costs more. */
export function settleFile(manner: Manner, target: string, seen: Seen): void {
  // It has either its source's mode or a private one.
  if (manner.public) chmodSync(target, publicMode(seen.mode))
  else if (seen.mode !== (constants.S_IFREG | 0o600)) chmodSync(target, 0o600)
  if (manner.owner) lchownSync(target, manner.owner.uid, manner.owner.gid)
}

function publicMode(mode: number): number {
  return mode & 0o100 ? 0o755 : 0o644
}
