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

/** Their names, up to so many: half a microsecond each, without a turn for other work. */
export function namesIn(path: string, at_most: number): string[] {
  const folder = opendirSync(path, { bufferSize: entries_per_turn })
  const names: string[] = []
  try {
    for (let entry = folder.readSync(); entry !== null && names.length < at_most; entry = folder.readSync()) {
      names.push(entry.name)
    }
    return names
  } finally {
    folder.closeSync()
  }
}
