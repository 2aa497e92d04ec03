// Which process is copying in a service's home: a file names it, so that no second server on this directory begins
// the same copy, removes it half-made, or starts PostgreSQL on data that is being copied while it stands still.
// A lock ends with its work or with its process: by pid and start time where /proc shows it, else by the age of the file.
import { rm, utimes } from 'node:fs/promises'
import { ensureFile, type Effect } from './effect.ts'
import { readIfThere } from '../../host/read.ts'
import type { Node } from './layout.ts'
import { isAlive, ownName, steadySeconds } from '../../host/process-name.ts'

/** `standing still`: PostgreSQL must not start meanwhile. */
type LockKind = 'copying while it runs' | 'copying while it stands still' | 'making its data'

const sign_of_life_ms = 2_000

/** What a living process is doing in this home; undefined when none is. */
export async function findLock(node: Node): Promise<LockKind | undefined> {
  const text = await readIfThere(node.copying)
  if (text === undefined) return undefined
  const [kind, owner] = text.split('\n')
  return isAlive(owner ?? '', node.copying) ? (kind as LockKind) : undefined // written below, in one piece
}

/** Does the work while it owns the lock; false, and nothing done, when another process owns it. The caller has the service's lease. */
export async function withLock(effect: Effect, node: Node, kind: LockKind, work: () => Promise<void>) {
  const release = await takeLock(effect, node, kind)
  if (release === undefined) return false
  try {
    await work()
    return true
  } finally {
    await release()
  }
}

/** How to release it; undefined when another process owns it. */
export async function takeLock(effect: Effect, node: Node, kind: LockKind): Promise<(() => Promise<void>) | undefined> {
  if ((await findLock(node)) !== undefined) return undefined
  await ensureFile(effect, 'lock', node.copying, `${kind}\n${ownName()}\n`, undefined)
  const touch = async () => {
    const now = steadySeconds()
    await utimes(node.copying, now, now).catch(() => undefined)
  }
  await touch()
  const timer = setInterval(() => void touch(), sign_of_life_ms).unref()
  // No effect: a pass that has lost its lease releases its locks, too.
  return async () => {
    clearInterval(timer)
    await rm(node.copying, { force: true })
  }
}
