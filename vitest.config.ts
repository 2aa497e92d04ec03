// Tests run real PostgreSQL servers: four files at once on two cores, for they wait a lot; generous limits, and no test depends on how
// long a thing takes.
import { randomBytes, randomInt } from 'node:crypto'
import { readFileSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { defineConfig } from 'vitest/config'
import { drawn, leftOut } from './test/run/draw.ts'
import { failed } from './test/run/failed.ts'
import { LongestFirst } from './test/run/order.ts'
import { skipped } from './test/run/skipped.ts'

process.env['TEST_SEED'] ??= String(randomInt(1_000_000))
const chosen = process.env['TEST_FILES']
const left_out = chosen === undefined ? leftOut(process.argv.slice(2)) : []

export default defineConfig({
  test: {
    include: [chosen ?? '**/*.test.ts'],
    exclude: ['node_modules/**', ...left_out],
    pool: 'forks',
    maxWorkers: 4,
    sequence: { sequencer: LongestFirst },
    // A second of a processor for each file, if every one had a process of its own that loads the product anew.
    isolate: false,
    // Node runs the product as it is: a module that Vite has rewritten reaches every import through a getter, a tenth of the run.
    experimental: { viteModuleRunner: false, nodeLoader: false },
    // A smaller nursery makes answers outlive it, and collecting them later takes a sixth of the processors; one that grows to this size
    // by and by, a twentieth. A larger one makes dearer what a worker starts, which begins as a fork of it: some 5 ms for each 100 MB.
    execArgv: ['--max-semi-space-size=16', '--min-semi-space-size=16'],
    testTimeout: 240_000,
    hookTimeout: 240_000,
    reporters: ['default', drawn(left_out), skipped, failed],
    globalSetup: 'test/run/set-up.ts',
    env: {
      MALLOC_ARENA_MAX: '2',
      // Of this run alone, so that all it leaves is known by this name. Short, because paths of sockets are.
      TMPDIR: join(inMemory('/dev/shm') ?? tmpdir(), `howdah-${randomBytes(4).toString('hex')}`),
      TEST_SEED: process.env['TEST_SEED'],
    },
  },
})

/**
 * Tests make and remove very many files. Some file systems are slow at that (ext4 without a journal passes over every inode that
 * was deleted in the last seconds), so they are made in memory where there is enough of it.
 */
function inMemory(folder: string): string | undefined {
  const enough = 6 * 2 ** 30
  try {
    const mount = readFileSync('/proc/self/mounts', 'utf8').match(new RegExp(`^\\S+ ${folder} tmpfs (\\S+)`, 'm'))
    const free_memory = Number(readFileSync('/proc/meminfo', 'utf8').match(/^MemAvailable: +(\d+) kB/m)?.[1]) * 1024
    const { bavail, bsize } = statfsSync(folder)
    const usable = mount !== null && !mount[1]?.split(',').includes('noexec')
    return usable && Math.min(bavail * bsize, free_memory) >= enough ? folder : undefined
  } catch {
    return undefined
  }
}
