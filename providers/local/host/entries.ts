// The entries of a folder, of which a service's user may have made any number: read a few at a time, with turns for other work.
import { type Dirent, opendirSync } from 'node:fs'
import { setImmediate as others } from 'node:timers/promises'

/** About two milliseconds' worth, with what a caller does for each. */
export const entries_per_turn = 400

export async function* entriesOf(path: string): AsyncGenerator<Dirent> {
  // Not by threads: each call would take ten times as long.
  const folder = opendirSync(path, { bufferSize: entries_per_turn })
  try {
    for (let read = 1; ; read += 1) {
      const entry = folder.readSync()
      if (entry === null) return
      yield entry
      if (read % entries_per_turn === 0) await others()
    }
  } finally {
    folder.closeSync()
  }
}

/** Their names, up to so many. */
export async function namesIn(path: string, at_most: number): Promise<string[]> {
  const names: string[] = []
  for await (const { name } of entriesOf(path)) {
    names.push(name)
    if (names.length === at_most) break
  }
  return names
}
