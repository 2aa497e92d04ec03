// The log of a pooler, which grows between two passes beyond what is kept of it.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { nodeOf } from '../host/layout.ts'
import { poolerFilesOf } from './files.ts'
import { poolerLogSince } from './process.ts'

test('what a pooler says is found after a long log, whatever characters that has', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'howdah-test-pooler-'))
  onTestFinished(() => rmSync(directory, { recursive: true }))
  const node = nodeOf(directory, 'one', 0, false)
  const { log } = poolerFilesOf(node)
  expect(await poolerLogSince(node, 0)).toBe('')
  mkdirSync(dirname(log), { recursive: true })
  const before = 'no such user: “ä”\n'.repeat(100_000)
  writeFileSync(log, `${before}got SIGUSR1, pausing all activity\n`)
  expect(await poolerLogSince(node, Buffer.byteLength(before))).toBe('got SIGUSR1, pausing all activity\n')
})
