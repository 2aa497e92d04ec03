// Whether a PostgreSQL server answers at all, found out by one connection that never logs in: it requests
// TLS at the unix socket, to which any living server answers one byte, also while it recovers or has no session left.
// Leaves no line in the server's log. Kept open, the connection closes at the moment of the server's death.
import type { Socket } from 'node:net'
import { newSocketTo } from './tenant-files.ts'

/** PostgreSQL says one byte, or a sentence where it cannot start a session. A program of the service's user may go on without end. */
const answer_bytes_max = 1024
const ssl_request = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

/** The folder of its unix socket, and the port after which that is named. */
export type Listening = { sockets: string; port: number }

/** The open connection, which the caller closes within a minute; undefined when there is no answer, whatever the reason. */
export async function findConnection(at: Listening, timeout_ms: number): Promise<Socket | undefined> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = newSocketTo(at.sockets, `.s.PGSQL.${at.port}`)
  const timer = setTimeout(resolve, timeout_ms, false)
  socket.once('connect', () => socket.write(ssl_request))
  socket.on('data', () => {
    resolve(socket.bytesRead <= answer_bytes_max)
    if (socket.bytesRead > answer_bytes_max) socket.destroy()
  })
  socket.on('error', () => resolve(false))
  socket.once('close', () => resolve(false))
  socket.connect({ path: at.sockets })
  const answered = await promise
  clearTimeout(timer)
  if (answered && !socket.destroyed) return socket
  socket.destroy()
  return undefined
}

export async function answers(at: Listening, timeout_ms: number): Promise<boolean> {
  const line = await findConnection(at, timeout_ms)
  line?.destroy()
  return line !== undefined
}
