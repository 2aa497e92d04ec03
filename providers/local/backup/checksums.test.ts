// Reading what is at rest may take hours: a server that ends does not wait for it.
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { commandOf } from '../../host/daemon.ts'
import { listPids } from '../../host/process.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { until } from '#test/until.ts'
import { noteSums } from './checksums.ts'

/** Days of reading; none of it takes space. */
const huge_bytes = 2 ** 43

test('checksums that are being noted are broken off', async () => {
  const root = newDataDir()
  const folder = join(root, 'at-rest')
  mkdirSync(folder, { recursive: true })
  const file = join(folder, 'huge')
  writeFileSync(file, '')
  truncateSync(file, huge_bytes)
  const end = new AbortController()
  const noting = noteSums({ folder, sums: join(root, 'noted'), isNeeded: () => true, signal: end.signal })
  const failing = expect(noting).rejects.toThrow('ends')
  const reads = (pid: number) => commandOf(pid).then((words) => words[0] === 'cksum' && words.includes(file))
  await until(async () => (await Promise.all(listPids().map(reads))).includes(true), { what: 'it is being read' })
  end.abort(new Error('the server ends'))
  await failing
  await removeDataDir(root)
})
