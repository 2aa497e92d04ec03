// What a caller is told when something was thrown: every error becomes one Fault. Faults go out as they are; an unreachable
// store is UNAVAILABLE; all else is our bug: a fixed sentence with the request id, and the stack goes to the log only.
import type { FastifyReply } from 'fastify'
import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { Fault, notFound, unknown_project } from '#contract/fault.ts'
import { messageOf } from '#providers/host/message.ts'
import { isForeignKeyViolation, storeIsUnreachable, unavailable } from '../store/db.ts'
import type { Log } from '../log.ts'

export function faultOf(error: unknown, request_id: string, log: Log): Fault {
  if (error instanceof Fault) return error
  const status = statusOf(error)
  if (status === 413) return tooLarge()
  if (status === 415) return unsupportedMediaType()
  if (status !== undefined && status < 500) {
    return new Fault('INVALID_REQUEST', 'the request could not be read as HTTP with a JSON body')
  }
  // The project, or the caller's membership of it, was removed between the check and the write.
  if (isForeignKeyViolation(error) && error.constraint?.includes('_project_id_')) return notFound(unknown_project)
  if (storeIsUnreachable(error)) {
    log.warn({ request_id, reason: messageOf(error) }, 'store is unreachable')
    return unavailable()
  }
  log.error({ request_id, err: error }, 'request failed')
  return new Fault('INTERNAL', `the server failed to answer this request; report it with the request id ${request_id}`)
}

export function sendFault(reply: FastifyReply, fault: Fault): FastifyReply {
  if (fault.code === 'UNAUTHORIZED') reply.header('www-authenticate', 'Bearer')
  const retry_after_seconds = fault.retry_after_seconds ?? (fault.status === 503 ? 1 : undefined)
  if (retry_after_seconds !== undefined) reply.header('retry-after', String(retry_after_seconds))
  return reply.code(fault.status).type('application/json; charset=utf-8').send(JSON.stringify(fault.body))
}

export const known_methods = ['GET', 'HEAD', 'POST', 'DELETE'] as const

/** The first line of a request whose method the HTTP parser does not know. */
const unknown_method_form = /^[\w!#$%&'*+.^`|~-]{1,64} [/*]/

type MalformedError = Error & { code?: string; rawPacket?: unknown }

/** Answers bytes that are not HTTP, or whose head is too long: there is no request yet, only a socket. */
export function answerMalformed(error: MalformedError, socket: Socket, request_id: string): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy()
    return
  }
  const fault = malformedFault(error)
  const body = JSON.stringify(fault.body)
  const head = [
    `HTTP/1.1 ${fault.status} ${STATUS_CODES[fault.status]}`,
    'Content-Type: application/json; charset=utf-8',
    `X-Request-Id: ${request_id}`,
    `Content-Length: ${Buffer.byteLength(body)}`,
    'Connection: close',
  ]
  if (fault.code === 'METHOD_NOT_ALLOWED') head.push(`Allow: ${known_methods.join(', ')}`)
  socket.end(`${head.join('\r\n')}\r\n\r\n${body}`)
}

function malformedFault({ code, rawPacket: bytes }: MalformedError): Fault {
  if (code === 'HPE_HEADER_OVERFLOW') return new Fault('INVALID_REQUEST', url_too_long)
  const is_method = code === 'HPE_INVALID_METHOD' && bytes instanceof Buffer
  if (is_method && unknown_method_form.test(bytes.toString('latin1', 0, 100))) {
    return new Fault('METHOD_NOT_ALLOWED', `this server knows the methods ${known_methods.join(', ')} only`)
  }
  return new Fault('INVALID_REQUEST', 'the bytes sent are not an HTTP request')
}

export const url_too_long = 'the URL or the header fields are too long: a URL may have 8 KiB'

export const tooLarge = (): Fault => new Fault('PAYLOAD_TOO_LARGE', 'the body is too large: the limit is 64 KiB')

export const unsupportedMediaType = (): Fault =>
  new Fault('UNSUPPORTED_MEDIA_TYPE', 'send the body as JSON in UTF-8 with the header Content-Type: application/json')

function statusOf(error: unknown): number | undefined {
  const status = error instanceof Error && 'statusCode' in error ? error.statusCode : undefined
  return typeof status === 'number' ? status : undefined
}
