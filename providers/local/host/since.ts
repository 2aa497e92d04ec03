// Since when a sign has been the same, across passes and processes: a file has the sign, the boot of the system, and the moment on the
// system's steady clock at which it was written. When the time of day is set, nothing seems to have lasted for long.
import { bootId, readIfThere } from '../../host/read.ts'
import { steadySeconds } from '../../host/process-name.ts'
import { ensureFile, type Effect } from './effect.ts'

/** Writes the file anew unless it has this sign. Returns for how long it has had it. */
export async function ensureSince(effect: Effect, name: string, path: string, sign: string): Promise<number> {
  const age_ms = await findAge(path, sign)
  if (age_ms !== undefined) return age_ms
  await ensureFile(effect, name, path, `${sign}\n${since()}${steadySeconds()}\n`, undefined)
  return 0
}

/** In milliseconds; undefined when the file does not have this sign, or has it from before the system was started. */
export async function findAge(path: string, sign: string): Promise<number | undefined> {
  const head = `${sign}\n${since()}`
  const text = await readIfThere(path)
  return text?.startsWith(head) ? (steadySeconds() - Number(text.slice(head.length))) * 1000 : undefined
}

const since = () => `since ${bootId()} `
