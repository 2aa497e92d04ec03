// Stands before an S3 server and lets it look troubled: it answers with errors, it is slow, it is away.
import { createServer, request, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { once } from 'node:events'
import { setTimeout as pause } from 'node:timers/promises'

/** serves: no other clients than these, by the name of their program. */
export type Trouble = { errors?: readonly number[]; slow_ms?: number; serves?: RegExp }

export function newProxy(port: number, upstream: string) {
  let trouble: Trouble = {}
  let answered = 0
  let server: Server | undefined
  const answer = async (asked: IncomingMessage, response: ServerResponse) => {
    const { errors = [], slow_ms = 0, serves = /./ } = trouble
    answered += 1
    const error = serves.test(asked.headers['user-agent'] ?? '-') ? errors[answered % errors.length] : 403
    if (error !== undefined) {
      asked.resume()
      response.writeHead(error).end()
      return
    }
    await pause(slow_ms)
    // The host that the client named is part of what it signed.
    const { method, headers, url = '/' } = asked
    const onward = request(new URL(url, upstream), { method, headers }, (answering) => {
      response.writeHead(answering.statusCode ?? 502, answering.headers)
      answering.pipe(response)
    })
    onward.on('error', () => response.destroy())
    response.on('close', () => onward.destroy())
    asked.pipe(onward)
  }
  return {
    url: `http://127.0.0.1:${port}`,
    /** None: it passes everything on. */
    be: (now: Trouble) => {
      trouble = now
    },
    open: async () => {
      server = createServer((asked, response) => void answer(asked, response)).listen(port, '127.0.0.1')
      await once(server, 'listening')
    },
    close: async () => {
      server?.closeAllConnections()
      await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)))
      server = undefined
    },
  }
}
