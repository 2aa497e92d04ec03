// What a client meets at a node port: TLS, and a login as far as it goes without the password. Certificate and verifier come from the
// Secrets of the service, as they do for a real one.
import { once } from 'node:events'
import { createServer, type Server, type Socket } from 'node:net'
import { TLSSocket } from 'node:tls'

type Login = { certificate_pem: string; key_pem: string; verifier: string }

/** `login`: read at each connection. */
export async function listenAt(port: number, login: () => Login | undefined): Promise<Server> {
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    serve(socket, login()).catch(() => socket.destroy())
  })
  server.listen(port, '127.0.0.1')
  await once(server, 'listening')
  return server
}

async function serve(socket: Socket, login: Login | undefined): Promise<void> {
  if (login === undefined) return void socket.destroy()
  await bytesOf(socket, 8)
  socket.write('S')
  const tls = new TLSSocket(socket, { isServer: true, cert: login.certificate_pem, key: login.key_pem })
  tls.on('error', () => undefined)
  const length = (await bytesOf(tls, 4)).readInt32BE(0)
  await bytesOf(tls, length - 4)
  tls.write(authentication(10, 'SCRAM-SHA-256\0\0'))
  const head = await bytesOf(tls, 5)
  const first = (await bytesOf(tls, head.readInt32BE(1) - 4)).toString()
  const [, nonce] = /r=(.+)$/.exec(first) ?? []
  const [iterations, salt] = (login.verifier.split('$')[1] ?? '').split(':')
  tls.write(authentication(11, `r=${nonce}more,s=${salt},i=${iterations}`))
}

function authentication(code: number, rest: string): Buffer {
  const body = Buffer.from(rest)
  const head = Buffer.alloc(9)
  head.write('R')
  head.writeInt32BE(8 + body.length, 1)
  head.writeInt32BE(code, 5)
  return Buffer.concat([head, body])
}

async function bytesOf(socket: Socket, count: number): Promise<Buffer> {
  for (;;) {
    const chunk: unknown = socket.read(count)
    if (chunk instanceof Buffer && chunk.length === count) return chunk
    if (socket.readableEnded || socket.destroyed) throw new Error('the client left')
    await once(socket, 'readable')
  }
}
