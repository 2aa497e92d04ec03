// Which process of an installation makes its backups: a file names it. Several servers may share a data directory; when this process
// ends, another one goes on. Of several that find it dead, one at a time looks again and writes its own name.
import { rename, unlink, utimes, writeFile } from 'node:fs/promises'
import { basename, dirname } from 'node:path'
import { isAlive, ownName, steadySeconds } from '#providers/host/process-name.ts'
import { readIfThere } from '#providers/host/read.ts'
import { inTurn, type RequireTurn } from '#providers/host/turn.ts'

export type RunnerLock = {
  /** Takes it when no living process has it. */
  isOurs(): Promise<boolean>
  release(): Promise<void>
}

/** A run may last for hours; a process of another namespace sees by the file that this one lives. */
const sign_of_life_ms = 2_000

export function holdRunner(path: string): RunnerLock {
  const own = `${ownName()}\n`
  const findOwner = async () => {
    const text = await readIfThere(path)
    return text === own || (text !== undefined && isAlive(text.trim(), path)) ? text : undefined
  }
  const takeIfFree = async (requireTurn: RequireTurn) => {
    if ((await findOwner()) !== undefined) return
    const aside = `${path}.new`
    await writeFile(aside, own, { mode: 0o600 })
    requireTurn()
    await rename(aside, path)
  }
  const touchIfOurs = async () => {
    const now = steadySeconds()
    if ((await readIfThere(path)) === own) await utimes(path, now, now)
  }
  const timer = setInterval(() => void touchIfOurs().catch(() => undefined), sign_of_life_ms).unref()
  return {
    isOurs: async () => {
      if ((await findOwner()) === undefined) await inTurn(dirname(path), basename(path), takeIfFree)
      return (await findOwner()) === own
    },
    release: async () => {
      clearInterval(timer)
      if ((await readIfThere(path)) === own) await unlink(path)
    },
  }
}
