// Makes action/howdah.mjs: the user's commands in one file, for the GitHub action, which installs nothing and runs the runner's own Node.
// It is made at a release and is no part of the sources. Prints its path.
import { readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { rolldown } from 'rolldown'

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const target = join(root, 'action', 'howdah.mjs')
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
const entry = join(root, 'action', `.entry-${process.pid}.ts`)
try {
  writeFileSync(
    entry,
    `import { runAlone } from '../cli/user/alone.ts'\nprocess.exitCode = await runAlone(process.argv.slice(2), ${JSON.stringify(version)})\n`,
  )
  const bundle = await rolldown({ input: entry, cwd: root, platform: 'node', transform: { target: 'node20' } })
  await bundle.write({ file: `${target}.${process.pid}`, format: 'esm', codeSplitting: false })
  renameSync(`${target}.${process.pid}`, target)
  console.log(target)
} finally {
  rmSync(entry, { force: true })
}
