// The server's log as a file in the data directory, so that the terminal stays for people. It never grows beyond two
// files of 16 MB: a full one is renamed to server.log.1. Several servers may write to the same file. A line that cannot be written, as on
// a full disk, is lost: the server goes on.
import { closeSync, fstatSync, openSync, renameSync, statSync, writeSync } from 'node:fs'
import { join } from 'node:path'

const bytes_max = 16 * 1024 * 1024
/** How often the size is read: seldom enough to cost nothing, often enough to keep the bound. */
const lines_between_looks = 1000

export type LogFile = { path: string; write(line: string): void }

export function openLogFile(data_dir: string): LogFile {
  const path = join(data_dir, 'server.log')
  let file = open(path)
  let lines = 0
  return {
    path,
    write: (line) => {
      try {
        // The first line reads it too: a server that is restarted often must not escape the bound.
        if (lines % lines_between_looks === 0) file = rotated(path, file)
        lines += 1
        writeSync(file, line)
      } catch {
        // There is no other place to tell it.
      }
    },
  }
}

const open = (path: string) => openSync(path, 'a', 0o600)

function rotated(path: string, file: number): number {
  const own = fstatSync(file)
  const named = statSync(path, { throwIfNoEntry: false })
  const moved_by_another = named?.ino !== own.ino
  if (!moved_by_another && own.size < bytes_max) return file
  if (!moved_by_another) renameSync(path, `${path}.1`)
  // Opened before the other one is closed: where it cannot be, the number of a closed file may by then be another file's.
  const next = open(path)
  closeSync(file)
  return next
}
