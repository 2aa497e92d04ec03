// Reading what is at rest may take hours: a server that ends does not wait for it, and a reading that ends early is no finding.
import { mkdirSync, truncateSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { Untried } from '../../provider.ts'
import { commandOf } from '../../host/daemon.ts'
import { listPids } from '../../host/process.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { until } from '#test/until.ts'
import { compareSums, noteSums } from './checksums.ts'

/** Days of reading; none of it takes space. */
const huge_bytes = 2 ** 43

let root = ''
const folder = () => join(root, 'at-rest')
const file = () => join(folder(), 'huge')

beforeEach(() => {
  root = newDataDir()
  mkdirSync(folder(), { recursive: true })
  writeFileSync(file(), '')
  truncateSync(file(), huge_bytes)
})

afterEach(() => removeDataDir(root))

const atRest = (signal: AbortSignal) => ({ folder: folder(), sums: join(root, 'noted'), isNeeded: () => true, signal })

async function untilRead(): Promise<number> {
  const reads = async (pid: number) => {
    const words = await commandOf(pid)
    return words[0] === 'cksum' && words.includes(file()) ? [pid] : []
  }
  const pids = async () => (await Promise.all(listPids().map(reads))).flat()
  return await until(async () => (await pids())[0], { what: 'it is being read' })
}

test('checksums that are being noted are broken off', async () => {
  const end = new AbortController()
  const failing = expect(noteSums(atRest(end.signal))).rejects.toThrow('ends')
  await untilRead()
  end.abort(new Error('the server ends'))
  await failing
})

test('when cksum is killed nothing is compared, and no file is called missing', async () => {
  const at_rest = atRest(new AbortController().signal)
  writeFileSync(at_rest.sums, JSON.stringify({ huge: '1 1' }))
  const comparing = compareSums(at_rest)
  const failing = expect(comparing).rejects.toThrow(Untried)
  process.kill(await untilRead(), 'SIGKILL')
  await failing
  await expect(comparing).rejects.toThrow("reading its files ended early: find: 'cksum' terminated by signal 9")
})
