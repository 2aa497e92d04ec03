// Writes the generated parts of the documentation: `npm run docs`.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '#test/sources.ts'
import { withGenerated } from './generated.ts'
import { pages } from './pages.ts'

for (const { path, text } of pages) {
  const wanted = withGenerated(text)
  if (wanted === text) continue
  writeFileSync(join(root, path), wanted)
  console.log(`${path} is up to date.`)
}
