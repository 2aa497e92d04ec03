// Reads a request's body: at most 64 KiB, JSON in UTF-8. An empty body is no body. Where the endpoint declares none, a body
// is ignored unless it has members, which are then unknown ones. A body that is declared larger is refused before it comes. After a body
// that is too large the connection ends; it is still read for a while, so that the sender gets to see the answer.
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import type { IncomingMessage } from 'node:http'
import { Fault } from '#contract/fault.ts'
import { tooLarge, unsupportedMediaType } from './errors.ts'

export const body_bytes_max = 64 * 1024
const drained_bytes_max = 4 * 1024 * 1024
const linger_ms = 1_000

export function readBodies(app: FastifyInstance): void {
  const decoder = new TextDecoder('utf-8', { fatal: true })

  app.removeAllContentTypeParsers()
  app.addContentTypeParser('*', async (request: FastifyRequest, payload: IncomingMessage) => {
    if (request.is404) return undefined
    const bytes = await readBytes(payload)
    const { endpoint } = request.routeOptions.config
    if (bytes.length === 0 || endpoint === undefined) return undefined
    if (endpoint.body === undefined) return membersIn(bytes)
    if (!isPlainJson(request)) throw unsupportedMediaType()
    // Of members such as __proto__, too, which the schema then refuses as unknown ones.
    return parseJson(decoder, bytes)
  })
}

/** An object with members, of any content type; undefined for all else. */
function membersIn(bytes: Buffer): object | undefined {
  try {
    const value: unknown = JSON.parse(bytes.toString())
    const is_object = typeof value === 'object' && value !== null && !Array.isArray(value)
    return is_object && Object.keys(value).length > 0 ? value : undefined
  } catch {
    return undefined
  }
}

export async function readBytes(payload: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = []
  let length = 0
  try {
    // The socket must survive the loop: an answer has to go out on it.
    for await (const chunk of payload.iterator({ destroyOnReturn: false })) {
      const bytes = Buffer.from(chunk)
      length += bytes.length
      if (length <= body_bytes_max) chunks.push(bytes)
      if (length > drained_bytes_max) break
    }
  } catch {
    throw new Fault('INVALID_REQUEST', 'the body ended before it was complete')
  }
  if (length > body_bytes_max) throw tooLarge()
  return Buffer.concat(chunks)
}

/** A body of which nothing has to be read to know that it is too large. */
export function declaresTooMuch({ headers }: FastifyRequest): boolean {
  return Number(headers['content-length'] ?? 0) > body_bytes_max
}

/**
 * Ends the connection after the answer, although the body is not read: without that it would be kept until all of the body
 * has come. Node would close it at once, and a connection that is closed while bytes are unread is reset, at times before
 * the other side has read the answer. So this side ends first, and reads on for a moment.
 */
export function endAfterAnswer({ raw: { socket } }: FastifyRequest, reply: FastifyReply): void {
  reply.header('connection', 'close')
  socket.destroySoon = () => {
    socket.end()
    setTimeout(() => socket.destroy(), linger_ms).unref()
  }
}

function isPlainJson(request: FastifyRequest): boolean {
  const type = request.headers['content-type']?.split(';')[0]?.trim().toLowerCase()
  const encoding = request.headers['content-encoding']
  return type === 'application/json' && (encoding === undefined || encoding === 'identity')
}

function parseJson(decoder: TextDecoder, bytes: Buffer): unknown {
  try {
    return JSON.parse(decoder.decode(bytes))
  } catch {
    throw new Fault('INVALID_REQUEST', 'the body is not valid JSON in UTF-8')
  }
}
