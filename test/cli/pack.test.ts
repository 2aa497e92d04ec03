// The packed command as its users have it: unpacked in another folder, without the clone, under Node 20 with an empty home.
import { execFile, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { expect, onTestFinished, test } from 'vitest'
import { version } from '#contract/version.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { repository } from '#test/e2e/howdah.ts'
import { startInRegion } from '#test/http/region.ts'

const run = promisify(execFile)

const node20 = (process.env['PATH'] ?? '')
  .split(':')
  .map((one) => join(one, 'node'))
  .find((node) => spawnSync(node, ['--version'], { encoding: 'utf8' }).stdout?.startsWith('v20.'))
const why = node20 === undefined ? ' (skipped: no Node 20 is on the PATH)' : ''

test.skipIf(why)(`the tarball is the command for a machine that has no server${why}`, async () => {
  const folder = newDataDir()
  onTestFinished(() => removeDataDir(folder))
  const howdah = await startInRegion()
  onTestFinished(() => howdah.stop())
  await howdah.createService({ name: 'shop' })
  const { stdout } = await run(process.execPath, [join(repository, 'bin', 'pack-cli.mjs')])
  await run('tar', ['-xzf', stdout.trim(), '-C', folder])
  const home = join(folder, 'home')
  mkdirSync(home)
  const env = {
    PATH: `${dirname(node20 ?? '')}:/usr/bin:/bin`,
    HOME: home,
    HOWDAH_SERVER: howdah.server.url,
    HOWDAH_TOKEN: howdah.token,
  }
  const program = join(folder, 'package', 'bin', 'howdah.mjs')
  const command = (...words: string[]) => run(program, words, { env, cwd: home })
  expect((await command('version')).stdout).toBe(`${version}\n`)
  expect((await command('help')).stdout).toContain('Use a server (with a login)')
  expect((await command('service', 'create', '--help')).stdout).toContain('Usage: howdah service create')
  expect(JSON.parse((await command('service', 'list', '-o', 'json')).stdout)).toMatchObject([{ name: 'shop' }])
  await expect(command('start')).rejects.toMatchObject({ code: 2 })
  expect(readdirSync(home)).toEqual([])
  // A pipe that is closed before anything comes.
  const piped = await run('sh', ['-c', 'trap "" PIPE; { "$0" help; echo "$?" >&2; } | true', program], { env })
  expect(piped.stderr).toBe('0\n')
  await command('mcp', 'install', 'claude-code', '--yes')
  const { mcpServers } = JSON.parse(readFileSync(join(home, '.mcp.json'), 'utf8')) as {
    mcpServers: { howdah: { command: string } }
  }
  expect((await run(mcpServers.howdah.command, ['version'], { env })).stdout).toBe(`${version}\n`)
})
