// A conversation with a running HAProxy over its control socket, one command a connection. The socket lies in a folder that
// only the service's user and the server can enter.
import { newSocketTo } from '../host/tenant-files.ts'

const timeout_ms = 1_000
const answer_bytes_max = 1024 ** 2

/** `name`: of the socket in the folder. Undefined when no process answers. */
export async function askHaproxy(folder: string, name: string, command: string): Promise<string | undefined> {
  const socket = newSocketTo(folder, name).setTimeout(timeout_ms)
  try {
    const chunks: Buffer[] = []
    let bytes = 0
    socket.once('timeout', () => socket.destroy(new Error('no answer')))
    socket.connect({ path: folder })
    socket.write(`${command}\n`)
    for await (const chunk of socket) {
      // A socket without an encoding gives buffers.
      chunks.push(chunk as Buffer)
      bytes += (chunk as Buffer).length // the same
      if (bytes > answer_bytes_max) return undefined
    }
    return Buffer.concat(chunks).toString()
  } catch {
    return undefined
  } finally {
    socket.destroy()
  }
}

/** The value in a line `name: value`. */
export function fieldOf(info: string, name: string): string | undefined {
  const line = info.split('\n').find((one) => one.startsWith(`${name}: `))
  return line?.slice(name.length + 2).trim()
}
