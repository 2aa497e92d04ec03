// A TCP connection that is made inside a network into which this process cannot go: a shell there connects and passes the
// bytes on. A program of our own inside would cost ten times as much, and services are looked at all day.
import { spawn } from 'node:child_process'
import { Duplex } from 'node:stream'
import type { Endpoint } from '../../provider.ts'
import { system_env } from '../../host/program.ts'
import { shell } from './owner-process.ts'

export type Relay = {
  connection: Duplex
  /** Ends it and gives what the shell said, such as why it could not connect. */
  close(): Promise<string>
}

/** Both directions, until either side ends. */
const script = 'exec 3<>"/dev/tcp/$1/$2" || exit; cat <&3 & exec cat >&3'
const said_chars_max = 1_000

/** The prefix brings a command into the network. */
export function openRelay(prefix: readonly string[], { host, port }: Endpoint): Relay {
  const [program, ...args] = [...prefix, ...shell, script, 'bash', host, String(port)]
  // A group of its own, so that all of it can be ended at once.
  const child = spawn(program, args, { cwd: '/', env: system_env, detached: true, stdio: 'pipe' })
  const connection = Duplex.from({ readable: child.stdout, writable: child.stdin })
  // Whoever reads is told by the end of the stream.
  connection.on('error', () => undefined)
  child.on('error', (error) => connection.destroy(error))
  // Its last words may be read only after its end was noticed: they are complete when nobody can add to them.
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
    // It has ended by itself.
  }
}
