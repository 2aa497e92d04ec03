// Checksums of files at rest. A file is read once to learn its checksum, and compared ever after: what differs has been damaged since.
// The folder is ours, so its names lead nowhere else; a program of the lowest priority reads it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { rename, writeFile } from 'node:fs/promises'
import { relative } from 'node:path'
import { text as textOf } from 'node:stream/consumers'
import { readFileSync } from 'node:fs'
import { system_env } from '../../host/program.ts'

type Sums = Record<string, string>

export type Damage = { differs?: string; missing?: string }

/** sums: the file with the checksums. isNeeded: of a file that was there and is not: whether it should be. */
export async function compareSums(folder: string, sums: string, isNeeded: (path: string) => boolean): Promise<Damage> {
  const [known, found] = [readSums(sums), await sumsOf(folder)]
  const differs = Object.entries(found).find(([path, sum]) => known[path] !== undefined && known[path] !== sum)?.[0]
  if (differs !== undefined) return { differs }
  const missing = Object.keys(known).find((path) => found[path] === undefined && isNeeded(path))
  if (missing !== undefined) return { missing }
  await writeFile(`${sums}.new`, JSON.stringify(found), { mode: 0o600 })
  await rename(`${sums}.new`, sums)
  return {}
}

function readSums(path: string): Sums {
  try {
    return JSON.parse(readFileSync(path, 'utf8')) as Sums // written above, in one piece
  } catch {
    return {}
  }
}

async function sumsOf(folder: string): Promise<Sums> {
  const words = ['-n', '19', 'find', folder, '-type', 'f', '-exec', 'sha256sum', '-z', '--', '{}', '+']
  const child = spawn('nice', words, { env: system_env, stdio: ['ignore', 'pipe', 'ignore'] })
  const [output] = await Promise.all([textOf(child.stdout), once(child, 'close')])
  const entries = output.split('\0').filter(Boolean)
  return Object.fromEntries(entries.map((entry) => [relative(folder, entry.slice(66)), entry.slice(0, 64)]))
}
