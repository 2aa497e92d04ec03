// The documentation by topic: each page of docs/, by its name.
import { readdir, readFile } from 'node:fs/promises'
import { join } from 'node:path'

const folder = join(import.meta.dirname, '..', 'docs')

export async function readDocs(): Promise<ReadonlyMap<string, string>> {
  const files = (await readdir(folder)).filter((name) => name.endsWith('.md')).toSorted()
  const pages = files.map(async (name) => [name.slice(0, -3), await readFile(join(folder, name), 'utf8')] as const)
  return new Map(await Promise.all(pages))
}
