// A server that is killed while the WAL of a lost primary is copied for it: what goes on by itself would write into the data of a replica
// that runs by then.
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { mayGiveUsers } from '#providers/host/privilege.ts'
import { wordsOf } from '#providers/host/process.ts'
import { ensureFenced } from '#providers/local/ha/fence.ts'
import { nodeOf } from '#providers/local/host/layout.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { processesBelow } from '#test/provider/service-fixture.ts'
import { until } from '#test/until.ts'

const directory = newDataDir()
const node = nodeOf(directory, 'service', 5_432, mayGiveUsers())
const pg_wal = join(node.data, 'pg_wal')
const module = (path: string) => JSON.stringify(join(import.meta.dirname, '../../providers/local', path))
const program = `
  import { ensureTailTaken } from ${module('ha/wal-tail.ts')}
  import { nodeOf } from ${module('host/layout.ts')}
  await ensureTailTaken(async () => {}, nodeOf(${JSON.stringify(directory)}, 'service', 5432, ${mayGiveUsers()}), 'all')`

const running = async () => (await processesBelow(pg_wal)).map((pid) => wordsOf({ pid: Number(pid) })[0])

afterAll(() => removeDataDir(directory))

test('the copy ends with the server, but for the file that it is at; that is ended before the data is used', async () => {
  mkdirSync(node.tail, { recursive: true })
  mkdirSync(pg_wal, { recursive: true })
  chmodSync(directory, 0o711)
  // A copy of a pipe lasts for as long as the test likes.
  execFileSync('mkfifo', ['-m', '644', join(node.tail, '000000010000000000000001')])
  for (const path of [node.tail, node.data, pg_wal]) {
    if (node.owner) chownSync(path, node.owner.uid, node.owner.gid)
  }
  const words = ['--disable-warning=ExperimentalWarning', '--input-type=module-typescript', '-e', program]
  const server = spawn(process.execPath, words, { cwd: import.meta.dirname, stdio: 'inherit' })
  const ended = once(server, 'close')
  await until(async () => (await running()).includes('cp'), { what: 'it is being copied' })
  server.kill('SIGKILL')
  await ended
  await until(async () => !(await running()).includes('/bin/sh'), { what: 'its shell ends' })
  await ensureFenced(async () => {}, node)
  expect(await running()).toEqual([])
})
