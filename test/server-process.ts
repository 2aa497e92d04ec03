// A server as a process of its own, which a test can kill -9 at any moment or at a chosen effect, and start again on the
// same data directory. What it started is found and ended by removeDataDir.
import { type ChildProcess, spawn } from 'node:child_process'
import { EventEmitter, once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { type Call, newCall } from './call.ts'
import { compileCacheFor } from './compile-cache.ts'
import { readable } from './privileges.ts'

export type ServerProcess = {
  pid: number
  url: string
  api_url: string
  first_token: string | undefined
  project_id: string
  /** Names of the provider's effects so far, in order. */
  effects: readonly string[]
  callWith(token: string): Call
  /** From now on: kills itself with SIGKILL right before the nth effect of this name. All effects before are known then. */
  killAt(effect: string, nth: number): Promise<void>
  /** Sends the signal and waits for the end. kill -9 by default. */
  end(signal?: NodeJS.Signals): Promise<void>
  /** Fulfilled when the process has ended, by whatever cause. */
  ended: Promise<void>
}

export type ProcessOptions = {
  data_dir: string
  service_ports: { first: number; last: number }
  database_url?: string
  /** Kills itself with SIGKILL right before this effect: the n-th, counted from 1, or the first of that name. */
  kill_at_effect?: number | string
  /** More flags of the server. */
  flags?: readonly string[]
  /** Words before the program, such as those that make it run as another user; the data directory must be theirs. */
  prefix?: readonly string[]
}

/** Fulfilled when the server serves; fails, with what it printed, when it ends before. */
export async function startServerProcess(options: ProcessOptions): Promise<ServerProcess> {
  const child = spawnServer(options)
  const effects: string[] = []
  const errors: string[] = []
  const ended = once(child, 'close').then(() => undefined)
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    errors.push(text)
  })
  const lines = createInterface({ input: child.stdout ?? process.stdin })
  const answers = new EventEmitter()
  const started = new Promise<Facts>((resolve, reject) => {
    lines.on('line', (line) => {
      const message = JSON.parse(line) as { effect: string } | { facts: Facts } | { armed: true } // written by test/server-main.ts
      if ('effect' in message) effects.push(message.effect)
      else if ('facts' in message) resolve(message.facts)
      else answers.emit('armed')
    })
    void ended.then(() => reject(new Error(`the server ended before it served: ${errors.join('').slice(-4_000)}`)))
  })
  const end = async (signal: NodeJS.Signals = 'SIGKILL') => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal)
    await ended
  }
  const killAt = async (effect: string, nth: number) => {
    const armed = once(answers, 'armed')
    child.stdin?.write(`${JSON.stringify({ effect, nth })}\n`)
    await armed
  }
  // A server that dies while it is spoken to is no failure of this process.
  child.stdin?.on('error', () => undefined)
  try {
    const facts = await started
    return { ...facts, effects, ended, end, killAt, callWith: (token) => newCall(facts.api_url, token) }
  } catch (error) {
    await end()
    throw error
  }
}

type Facts = { pid: number; url: string; api_url: string; first_token: string | undefined; project_id: string }

function spawnServer(options: ProcessOptions): ChildProcess {
  const { data_dir, service_ports, database_url, kill_at_effect, flags = [], prefix = [] } = options
  const script = join(import.meta.dirname, 'server-main.ts')
  const ports = `${service_ports.first}-${service_ports.last}`
  const settings = [
    '--data-dir',
    data_dir,
    '--service-ports',
    ports,
    '--log-level',
    'error',
    '--rate-limit',
    '0',
    '--undelete',
    '0',
  ]
  const words = ['--port', '0', ...settings, ...flags]
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', script]
  const [program = '', ...args] = [...prefix, ...(prefix.length > 0 ? node.map(readable) : node), ...words]
  return spawn(program, args, {
    env: {
      PATH: process.env['PATH'],
      NODE_COMPILE_CACHE: compileCacheFor(prefix),
      ...(database_url !== undefined && { DATABASE_URL: database_url }),
      ...(kill_at_effect !== undefined && { KILL_AT_EFFECT: String(kill_at_effect) }),
    },
    stdio: ['pipe', 'pipe', 'pipe'],
  })
}
