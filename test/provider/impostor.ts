// A program of the service's user that listens at the socket of its server, which is stopped.
import { once } from 'node:events'
import { chownSync, statSync } from 'node:fs'
import { createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import type { Node } from '#providers/local/host/layout.ts'

export async function listenInPlaceOf(node: Node, serve: (socket: Socket) => void): Promise<void> {
  const server = createServer((socket) => serve(socket.on('error', () => undefined)))
  const path = join(node.sockets, `.s.PGSQL.${node.port}`)
  server.listen(path)
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const { uid, gid } = statSync(node.sockets)
  chownSync(path, uid, gid)
}
