// The sources of the tree as text, for the tests of its structure.
import { readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'

export const root = join(import.meta.dirname, '..')
export const folders = ['contract', 'console', 'providers', 'server', 'mcp', 'cli', 'test', 'bench'] as const
export type Folder = (typeof folders)[number]

export type Source = { path: string; folder: Folder; text: string; is_test: boolean }

export const sources = folders.flatMap((folder) =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((file) => /\.tsx?$/.test(file) && !file.endsWith('.d.ts'))
    .map((file): Source => {
      const path = posix.join(folder, file)
      return { path, folder, text: readFileSync(join(root, path), 'utf8'), is_test: isTest(path) }
    }),
)
export const production = sources.filter((source) => !source.is_test && source.folder !== 'bench')

function isTest(path: string): boolean {
  return path.startsWith('test/') || path.endsWith('.test.ts')
}

export function importsOf(source: Source): string[] {
  return [...source.text.matchAll(/^(?:import|export)\b[^'"]*?from '([^']+)'|^import '([^']+)'/gm)].map(
    ([, from, bare]) => from ?? bare ?? '',
  )
}
