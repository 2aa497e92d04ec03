// Load for benches: servers and load are processes of their own, so that neither slows the other's event loop.
import { execFile, spawn } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { withCleanup } from './cleanup.ts'

const connections_default = 32
export const load_seconds = 4

/** Runs a script of this folder that prints its address and serves until it is killed. */
export async function withServer(
  script: string,
  env: NodeJS.ProcessEnv,
  work: (url: string, pid: number) => Promise<void>,
): Promise<void> {
  const child = spawn(process.execPath, [join(import.meta.dirname, script)], {
    env,
    stdio: ['ignore', 'pipe', 'ignore'],
  })
  await withCleanup(
    () => child.kill('SIGKILL'),
    async () => {
      const url = await new Promise<string>((resolve, reject) => {
        child.stdout.setEncoding('utf8').once('data', (line: string) => resolve(line.trim()))
        child.once('exit', () => reject(new Error(`${script} did not start`)))
      })
      await work(url, child.pid ?? 0)
    },
  )
}

export type LoadOrder = {
  url: string
  /** Asked for at random. */
  paths: readonly string[]
  token: string
  connections: number
  seconds: number
}

/** Requests a second, by autocannon in a process of its own. */
export async function load(
  url: string,
  paths: readonly string[],
  token: string,
  connections = connections_default,
): Promise<number> {
  const order: LoadOrder = { url, paths, token, connections, seconds: load_seconds }
  const { stdout } = await promisify(execFile)(process.execPath, [join(import.meta.dirname, 'load-client.ts')], {
    env: { LOAD: JSON.stringify(order) },
  })
  // The shape is autocannon's documented one.
  const result = JSON.parse(stdout) as { requests: { average: number }; non2xx: number; errors: number }
  if (result.non2xx > 0 || result.errors > 0) throw new Error(`${url}: ${result.non2xx} answers were not 2xx`)
  return result.requests.average
}
