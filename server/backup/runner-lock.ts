// Which process of an installation makes its backups: a file names it. Several servers may share a data directory; when this process
// ends, another one goes on.
import { randomUUID } from 'node:crypto'
import { link, unlink, utimes, writeFile } from 'node:fs/promises'
import { isAlive, ownName, steadySeconds } from '#providers/host/process-name.ts'
import { errorCode, readIfThere } from '#providers/host/read.ts'

export type RunnerLock = {
  /** Takes it when no living process has it. */
  isOurs(): Promise<boolean>
  release(): Promise<void>
}

export function holdRunner(path: string): RunnerLock {
  const own = `${ownName()}\n`
  const isOurs = async (): Promise<boolean> => {
    const text = await readIfThere(path)
    if (text === own) {
      const now = steadySeconds()
      await utimes(path, now, now)
      return true
    }
    if (text !== undefined) {
      if (isAlive(text.trim(), path)) return false
      await unlink(path).catch(() => undefined)
    }
    const aside = `${path}.${randomUUID()}`
    await writeFile(aside, own, { mode: 0o600 })
    const now = steadySeconds()
    await utimes(aside, now, now)
    try {
      // link, not rename: the first one wins.
      await link(aside, path)
      return true
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error
      return (await readIfThere(path)) === own
    } finally {
      await unlink(aside)
    }
  }
  return {
    isOurs,
    release: async () => {
      if ((await readIfThere(path)) === own) await unlink(path)
    },
  }
}
