// A proxy between the browser and the server, which can fail as such things do.
import { createServer, type IncomingMessage, request, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo, Socket } from 'node:net'
import { constants, createGzip } from 'node:zlib'
import { version_header } from '#contract/version.ts'

export type Proxy = {
  url: string
  /** Where the server listens. */
  to: string
  /** Holds the answer to a stream back until it ends, as some do that compress. */
  holds: boolean
  held: number
  /** Packs the answer to a stream: each piece as it comes, or when there is enough of it. */
  compresses: 'at once' | 'late' | undefined
  compressed: number
  /** What the server seems to be. */
  version: string | undefined
  /** Requests whose method and path fit reach the server after that. */
  waits: { what: RegExp; until: Promise<void> } | undefined
  /** Whose path fits reaches the server, and the answer is lost. */
  loses: RegExp | undefined
  /** Whose path fits has no answer but 404, as a file of an older build. */
  lacks: RegExp | undefined
  cut(): void
  close(): Promise<void>
}

export async function startProxy(): Promise<Proxy> {
  const sockets = new Set<Socket>()
  const server = createServer((from, back) => forward(proxy, from, back))
  server.on('connection', (socket) => {
    sockets.add(socket)
    socket.once('close', () => sockets.delete(socket))
  })
  await listening(server)
  const proxy: Proxy = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, // a server that listens has one
    to: '',
    holds: false,
    held: 0,
    compresses: undefined,
    compressed: 0,
    version: undefined,
    waits: undefined,
    loses: undefined,
    lacks: undefined,
    cut: () => {
      for (const socket of sockets) socket.destroy()
    },
    close: async () => {
      proxy.cut()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return proxy
}

const listening = (server: Server) => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))

function forward(proxy: Proxy, from: IncomingMessage, back: ServerResponse): void {
  const { method, headers, url = '/' } = from
  if (proxy.lacks?.test(url) === true) {
    back.writeHead(404).end()
    return
  }
  const on = request(proxy.to + url, { method, headers }, (answer) => {
    if (proxy.loses?.test(url) === true) {
      answer.resume()
      answer.once('end', () => back.destroy())
      return
    }
    const is_stream = answer.headers['content-type']?.startsWith('text/event-stream') === true
    if (is_stream && proxy.compresses !== undefined) {
      proxy.compressed += 1
      back.writeHead(200, { ...answer.headers, 'content-encoding': 'gzip' })
      const flush = proxy.compresses === 'late' ? constants.Z_NO_FLUSH : constants.Z_SYNC_FLUSH
      answer.pipe(createGzip({ flush })).pipe(back)
      return
    }
    if (!is_stream || !proxy.holds) {
      const { version = answer.headers[version_header] } = proxy
      back.writeHead(answer.statusCode ?? 502, { ...answer.headers, ...(version && { [version_header]: version }) })
      answer.pipe(back)
      return
    }
    proxy.held += 1
    const pieces: Buffer[] = []
    answer.on('data', (piece: Buffer) => pieces.push(piece))
    answer.on('end', () => back.writeHead(200, answer.headers).end(Buffer.concat(pieces)))
  })
  on.on('error', () => back.destroy())
  back.on('close', () => on.destroy())
  if (proxy.waits?.what.test(`${method} ${url}`) === true) void proxy.waits.until.then(() => from.pipe(on))
  else from.pipe(on)
}
