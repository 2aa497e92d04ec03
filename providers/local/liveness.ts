// Whether a PostgreSQL server answers at all, found out at the price of one connection that never logs in: it is asked for
// TLS at its unix socket, to which any living server answers one byte, also while it recovers or has no connection left.
// Leaves nothing in the server's log.
import { connect } from 'node:net'

const ssl_request = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

/** False when there is no answer within the time, whatever the reason. */
export async function answers(socket_path: string, timeout_ms: number): Promise<boolean> {
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const socket = connect({ path: socket_path })
  const timer = setTimeout(resolve, timeout_ms, false)
  socket.once('connect', () => socket.write(ssl_request))
  socket.once('data', () => resolve(true))
  socket.on('error', () => resolve(false))
  socket.once('close', () => resolve(false))
  try {
    return await promise
  } finally {
    clearTimeout(timer)
    socket.destroy()
  }
}
