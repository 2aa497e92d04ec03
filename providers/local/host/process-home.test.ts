// Whose a process is, by the words with which it was started.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { chownSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { mayGiveUsers } from '../../host/privilege.ts'
import { nodeOf } from './layout.ts'
import { homeOf } from './process-home.ts'

const node = nodeOf('/nowhere', 'abc', 5_432, true)

async function homeOfOne(directory: string, words: readonly string[]): Promise<string | undefined> {
  const shell = spawn('/bin/sh', ['-c', 'echo; read line', ...words], { cwd: '/' })
  onTestFinished(() => void shell.kill('SIGKILL'))
  await once(shell.stdout, 'data')
  const one = { pid: shell.pid ?? 0, parent: process.pid, uids: [node.owner?.uid ?? 0] }
  return homeOf({ directory, installation_id: 'another' }, node, one)
}

test('megabytes of words hold the server up for no time', { timeout: 60_000 }, async () => {
  const words = Array<string>(8).fill('/services/a'.repeat(11_900))
  expect(await homeOfOne('/nowhere', words)).toBeUndefined()
})

const why = mayGiveUsers() ? '' : ' (skipped: homes are root’s where root runs services)'

test.skipIf(why)(`a home is found in the word of a setting, also below another folder of that name${why}`, async () => {
  const directory = join(mkdtempSync(join(tmpdir(), 'howdah-home-')), 'services', 'x', 'local')
  onTestFinished(() => rmSync(join(directory, '..', '..', '..'), { recursive: true }))
  const home = join(directory, 'services', 'abc')
  mkdirSync(home, { recursive: true })
  chownSync(home, 0, node.owner?.gid ?? 0)
  const words = ['-D', '/elsewhere', '-c', `config_file=${home}/howdah.conf`]
  expect(await homeOfOne(directory, words)).toBe('abc')
})
