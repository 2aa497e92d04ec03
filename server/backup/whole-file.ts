// A file that is replaced whole: whatever happens meanwhile, it has its old text or its new one.
import { rename, writeFile } from 'node:fs/promises'

export async function replaceWhole(path: string, text: string): Promise<void> {
  await writeFile(`${path}.new`, text, { mode: 0o600, flush: true })
  await rename(`${path}.new`, path)
}
