// The built console, as `npm start` makes it: where a source is newer than the last build. Test files at once make it once.
import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { gzipSync } from 'node:zlib'

const root = join(import.meta.dirname, '..', '..')
export const built = join(root, 'dist', 'console')

export async function ensureBuilt(): Promise<void> {
  const script = join(root, 'console', 'build.ts')
  await promisify(execFile)(process.execPath, [script, '--if-newer'], { timeout: 180_000 })
}

export type BuiltFile = { name: string; text: string; gzipped_bytes: number }

export async function listBuilt(): Promise<BuiltFile[]> {
  const names = await readdir(built, { recursive: true, withFileTypes: true })
  return names
    .filter((entry) => entry.isFile())
    .map((entry) => {
      const bytes = readFileSync(join(entry.parentPath, entry.name))
      return { name: entry.name, text: bytes.toString(), gzipped_bytes: gzipSync(bytes, { level: 9 }).length }
    })
}
