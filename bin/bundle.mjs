// The user's commands in one file that needs nothing else: for the action, and for the package of the command.
import { mkdtempSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'

export const root = dirname(dirname(fileURLToPath(import.meta.url)))

const program = `import { runAlone } from '../cli/user/alone.ts'
process.exitCode = await runAlone(process.argv.slice(2))
`

/** Built aside, below the sources, and renamed into place. */
export async function bundleTo(target) {
  const aside = mkdtempSync(join(root, '.bundle-'))
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
        rolldownOptions: {
          output: { codeSplitting: false, entryFileNames: 'howdah.mjs', banner: '#!/usr/bin/env node' },
        },
      },
    })
    renameSync(join(aside, 'howdah.mjs'), target)
  } finally {
    rmSync(aside, { recursive: true, force: true })
  }
}
