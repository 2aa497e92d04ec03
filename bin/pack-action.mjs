// Makes action/howdah.mjs: the user's commands in one file, for the GitHub action, which installs nothing and runs the runner's own Node.
// It is made at a release and is no part of the sources. Prints its path.
import { mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const target = join(root, 'action', 'howdah.mjs')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const aside = mkdtempSync(join(root, 'action', '.build-'))
const program = `import { runAlone } from '../../cli/user/alone.ts'
process.exitCode = await runAlone(process.argv.slice(2), ${JSON.stringify(version)})
`
try {
  writeFileSync(join(aside, 'entry.ts'), program)
  await build({
    configFile: false,
    root,
    logLevel: 'warn',
    ssr: { noExternal: true },
    build: {
      ssr: join(aside, 'entry.ts'),
      outDir: aside,
      emptyOutDir: false,
      target: 'node20',
      rolldownOptions: { output: { codeSplitting: false, entryFileNames: 'howdah.mjs' } },
    },
  })
  renameSync(join(aside, 'howdah.mjs'), target)
  console.log(target)
} finally {
  rmSync(aside, { recursive: true, force: true })
}
