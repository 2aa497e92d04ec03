// How much a browser has to load: of the first page, of any page, and of style sheets.
import { beforeAll, expect, test } from 'vitest'
import { type BuiltFile, ensureBuilt, listBuilt } from './build.ts'

const entry_bytes_max = 145 * 1024
const page_bytes_max = 240 * 1024
const style_bytes_max = 15 * 1024
const first_files_max = 6

let files: readonly BuiltFile[]
let entry: ReadonlySet<BuiltFile>
beforeAll(async () => {
  await ensureBuilt()
  files = await listBuilt()
  const page = files.find(({ name }) => name === 'index.html')?.text ?? ''
  entry = new Set(files.filter(({ name }) => name.endsWith('.js') && page.includes(`/${name}"`)))
})

const sum = (some: Iterable<BuiltFile>) => [...some].reduce((total, { gzipped_bytes }) => total + gzipped_bytes, 0)

test('the scripts that every page needs are small and few', () => {
  expect(entry.size).toBeGreaterThan(0)
  expect(entry.size).toBeLessThanOrEqual(first_files_max)
  expect(sum(entry)).toBeLessThanOrEqual(entry_bytes_max)
})

test('no page needs much more than that', () => {
  const others = files.filter((file) => file.name.endsWith('.js') && !entry.has(file))
  expect(others.length).toBeGreaterThan(15)
  for (const page of others) {
    const needed = new Set([...entry, ...withImports(page)])
    expect([page.name, sum(needed) <= page_bytes_max]).toEqual([page.name, true])
  }
})

test('one style sheet dresses all pages', () => {
  const sheets = files.filter(({ name }) => name.endsWith('.css'))
  expect(sheets).toHaveLength(1)
  expect(sum(sheets)).toBeLessThanOrEqual(style_bytes_max)
})

test('nothing in the build names another site', () => {
  const elsewhere = files.flatMap(
    ({ text }) => text.match(/\b(?:src|href|import|url)\s*[=(]\s*["']?https?:\/\/[^"')]*/g) ?? [],
  )
  expect(elsewhere).toEqual([])
})

function withImports(file: BuiltFile, seen = new Set<BuiltFile>()): Set<BuiltFile> {
  if (seen.has(file)) return seen
  seen.add(file)
  for (const [, name] of file.text.matchAll(/from\s*["']\.\/([^"']+\.js)["']/g)) {
    const imported = files.find((one) => one.name === name)
    if (imported !== undefined) withImports(imported, seen)
  }
  return seen
}
