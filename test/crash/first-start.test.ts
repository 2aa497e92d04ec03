// The very first start, killed where it hurts: the next start ends what it had begun, as if nothing had happened. At two of the moments in
// each run, at all with `npm test -- --all`.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { compileCacheFor } from '#test/compile-cache.ts'
import { newDataDir, removeDataDir } from '#test/data-dir.ts'
import { newServicePorts } from '#test/ports.ts'
import { sampleOf } from '#test/sample.ts'
import { startServerProcess } from '#test/server-process.ts'
import { until } from '#test/until.ts'

let data_dir: string

afterEach(() => removeDataDir(data_dir))

const moments: [moment: string, seen: (folder: string) => boolean][] = [
  ['the installation is named', (folder) => existsSync(join(folder, 'installation-id'))],
  ['the store is made aside', (folder) => namesIn(join(folder, 'store')).some((name) => name.startsWith('new-'))],
  ['the store is in its place', (folder) => existsSync(join(folder, 'store', 'data'))],
  ['the store starts', (folder) => existsSync(join(folder, 'store', 'data', 'postmaster.pid'))],
  ['the provider begins', () => false],
]

test.each(sampleOf(moments, 2))(
  'a first start that is killed when %s is completed by the next one',
  async (_, seen) => {
    data_dir = newDataDir()
    const service_ports = newServicePorts()
    const script = join(import.meta.dirname, '..', 'server-main.ts')
    const flags = ['--port', '0', '--data-dir', data_dir, '--log-level', 'silent']
    // At the latest it kills itself, before it prints a token: a slow test cannot come too late.
    const env = { KILL_AT_EFFECT: 'provider folder: make', NODE_COMPILE_CACHE: compileCacheFor([]) }
    const child = spawn(process.execPath, [script, ...flags], { env, stdio: ['pipe', 'ignore', 'ignore'] })
    const ended = once(child, 'exit')
    await until(() => seen(data_dir) || child.signalCode !== null, { interval_ms: 1 })
    child.kill('SIGKILL')
    await ended

    const server = await startServerProcess({ data_dir, service_ports })
    expect(server.first_token).toBeDefined()
    const answer = await server.callWith(server.first_token ?? '')('GET', '/projects')
    expect(answer.status).toBe(200)
    await server.end()
  },
)

function namesIn(folder: string): string[] {
  return existsSync(folder) ? readdirSync(folder) : []
}
