// A TCP connection that is made inside a network into which this process cannot go: a shell there connects and forwards the
// bytes. A program of our own inside would cost ten times as much, and passes run all day.
import { spawn } from 'node:child_process'
import { Duplex } from 'node:stream'
import type { Endpoint } from '../../provider.ts'
import { system_env } from '../../host/program.ts'
import { shell } from './owner-process.ts'

type Relay = {
  connection: Duplex
  /** Closes it and returns what the shell printed, such as why it could not connect. */
  close(): Promise<string>
}

/** Both directions, until either side ends. */
const script = 'exec 3<>"/dev/tcp/$1/$2" || exit; cat <&3 & exec cat >&3'
const said_chars_max = 1_000

/** The prefix brings a command into the network. */
export function openRelay(prefix: readonly string[], { host, port }: Endpoint): Relay {
  const [program, ...args] = [...prefix, ...shell, script, 'bash', host, String(port)]
  // A process group of its own, so that all of it can be killed at once.
  const child = spawn(program, args, { cwd: '/', env: system_env, detached: true, stdio: 'pipe' })
  const connection = Duplex.from({ readable: child.stdout, writable: child.stdin })
  // The reader gets the end of the stream.
  connection.on('error', () => undefined)
  child.on('error', (error) => connection.destroy(error))
  // stderr may still hold bytes after the exit: it is complete when all its writers have closed it.
  const silent = new Promise((resolve) => child.stderr.once('close', resolve))
  let said = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    said = (said + text).slice(0, said_chars_max)
  })
  return {
    connection,
    close: async () => {
      connection.destroy()
      if (child.pid !== undefined) endGroup(child.pid)
      await silent
      // Which address it was, the caller knows.
      return (said.trim().split('\n').at(-1) ?? '').replace(/^bash: .*\/dev\/tcp\/[^:]+: /, '')
    },
  }
}

function endGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGKILL')
  } catch {
    // It has exited by itself.
  }
}
